import type { Command } from 'commander'
import { openContext, requireUser, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example } from '../help/help.ts'
import { isTerminal } from '../output/streams.ts'
import { readSettings } from '../context/profiles.ts'
import { userCommandsOf } from '../context/userCommands.ts'
import { readStart } from '../ui/start.ts'

interface Options {
  board?: string
  ascii?: boolean
  altScreen: boolean
  mouse: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Open the live board in this terminal. Move, run, approve, edit and read cards with keys or the mouse. Press ? for a list of the keys. If no project is selected, the command prompts for one.',
    )
    .option('-b, --board <board>', "name or ID of the board (default: the project's first board)")
    .option('--ascii', 'use only ASCII characters')
    .option('--no-alt-screen', 'keep the last screen on the terminal')
    .option('--no-mouse', 'disable the mouse, so that the terminal can select text')
    .action((options: Options) => openBoard(command, options))
  example(command, 'board ui', 'board ui -P web --board Releases', 'board ui --ascii --no-alt-screen')
}

async function openBoard(command: Command, { board, ascii = false, altScreen, mouse }: Options): Promise<void> {
  const context = await openContext(command)
  requireScreen(context)
  requireUser(context, 'ui')
  const settings = readSettings()
  const { density, preview, mouse: mouseSetting } = settings.config ?? {}
  const preferences = {
    isDense: density === undefined ? undefined : density === 'compact',
    hasPreview: preview === 'on',
    commands: userCommandsOf(settings),
  }
  // The screens load while the server answers.
  const start = readStart(context, board)
  start.catch(() => {
    /* Code that awaits `start` handles the error. */
  })
  const { showBoard } = await import('../ui/main.ts')
  await showBoard(context, await start, {
    isAscii: ascii,
    alternate: altScreen,
    mouse: mouse && mouseSetting !== 'off',
    preferences,
  })
}

/** @throws Failure (usage) without a screen or a keyboard */
function requireScreen({ out, globals }: Context): void {
  const instead = { hint: 'in a script, use: board cards list, board events', see: 'board ui --help' }
  if (out.json || out.quiet) throw usage('board ui prints no data, so --json and --quiet do not apply', instead)
  if (globals.input === false) throw usage('board ui is interactive and cannot run with --no-input', instead)
  if (!isTerminal(0) || !isTerminal(1)) throw usage('board ui requires a terminal', instead)
  if (process.env.TERM === 'dumb')
    throw usage('board ui requires a terminal with cursor control, but TERM is dumb', instead)
}
