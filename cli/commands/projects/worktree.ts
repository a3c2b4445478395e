import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { resolveProject } from '../../context/resolve.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { confirm } from '../../input/prompt.ts'
import type { Column } from '../../output/output.ts'
import { collect, durationSecs, noneAsEmpty, orWord, wordAsNull } from '../../parsing/arguments.ts'

type Found = Output<Contract['projects']['getWorktree']>
type Effective = Found['effective']
type Change = NonNullable<Parameters<Context['client']['projects']['update']>[0]['worktree']>

/** The value that restores a setting to board.json. */
const inherited = 'board.json'
type Inherited = typeof inherited

interface Options {
  setup?: string
  beforeRun?: string
  afterRun?: string
  cleanup?: string
  preview?: string
  subfolder?: string
  ports?: number | Inherited
  maxTime?: number | Inherited
  copy?: string[]
}
interface Agreement {
  agree?: boolean
  withdraw?: boolean
  yes?: boolean
}

const commands = ['setup', 'beforeRun', 'afterRun', 'cleanup', 'preview'] as const
const fields: Column<Effective>[] = [
  { name: 'setup', value: ({ setup }) => setup },
  { name: 'beforeRun', header: 'Before a run', value: ({ beforeRun }) => beforeRun },
  { name: 'afterRun', header: 'After a run', value: ({ afterRun }) => afterRun },
  { name: 'cleanup', value: ({ cleanup }) => cleanup },
  { name: 'preview', value: ({ preview }) => preview },
  { name: 'subfolder', value: ({ subfolder }) => subfolder },
  { name: 'ports', value: ({ ports }) => ports },
  { name: 'minutes', header: 'Time limit (min)', value: ({ minutes }) => minutes },
  { name: 'copiedFiles', header: 'Copied files', value: ({ copiedFiles }) => copiedFiles },
]

export function registerWorktree(projects: Command): void {
  const worktree = projects
    .command('worktree [project]')
    .summary("Show or change how a project's worktrees are prepared")
    .description(
      'Show or change the commands for worktrees of a project (default: the current one). Each setting comes from the project, or from board.json in its folder if a member has agreed to its current version. Commands run with sh in the sandbox of the agents, without their credentials.',
    )
    .option(
      '--setup <command>',
      'command that runs once in a new worktree, for example "npm ci"; none: no command; board.json: the command in that file',
    )
    .option('--before-run <command>', 'command before each session')
    .option('--after-run <command>', 'command after each session, before the card is completed')
    .option('--cleanup <command>', 'command before a worktree is removed')
    .option('--preview <command>', 'command that serves the worktree at $BOARD_PORT for a preview')
    .option('--subfolder <folder>', 'folder in the project where agents work: packages/web')
    .option('--ports <number>', 'number of ports per card: BOARD_PORT, BOARD_PORT_2, ...', orWord(inherited, portsOf))
    .option(
      '--max-time <time>',
      'maximum time for each command except the preview, for example 30m',
      orWord(inherited, minutesOf),
    )
    .option(
      '--copy <pattern>',
      'pattern of ignored files to copy to each new worktree, in the syntax of .gitignore: .env, !test.env. Repeat the option for more patterns; none removes them',
      collect,
    )
    .option('--agree', 'agree to the current version of board.json')
    .addOption(new Option('--withdraw', 'withdraw the agreement to board.json').conflicts('agree'))
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string | undefined, { agree, withdraw, yes, ...options }: Options & Agreement) => {
      const context = await openUserContext(worktree)
      const { id } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      if (Object.keys(options).length > 0) {
        const edited = await context.client.projects.update({ id, worktree: changeOf(options) })
        const message = `Changed the worktrees of project ${id}. The change applies to future starts.`
        // With --json, one record is printed: the last one.
        if (agree || withdraw) context.out.done(message)
        else await context.out.did(edited.worktree, message)
      }
      if (withdraw) {
        await context.client.projects.withdrawAgreement({ id })
        await context.out.did({ id }, 'Withdrew the agreement. board.json is no longer used.')
      }
      if (agree) return agreeTo(context, id, yes)
      if (Object.keys(options).length === 0 && !withdraw) return showSettings(context, id)
    })
  prints(worktree, null, 'setup beforeRun afterRun cleanup preview subfolder ports minutes copiedFiles')
  example(
    worktree,
    'board projects worktree',
    'board projects worktree web --setup "npm ci" --copy .env --subfolder packages/web',
    'board projects worktree --ports 2 --preview "npm run dev -- --port $BOARD_PORT"',
    'board projects worktree --agree',
    'board projects worktree --setup board.json --json setup',
  )
}

async function showSettings(context: Context, id: string): Promise<void> {
  const { effective, boardFile } = await context.client.projects.getWorktree({ id })
  await context.out.record(effective, fields)
  if (!boardFile) return
  context.out.done(
    boardFile.problem !== null
      ? `board.json is not used: ${boardFile.problem}.`
      : boardFile.agreed
        ? `board.json is used${boardFile.agreed.by === null ? '' : `: ${boardFile.agreed.by} has agreed to it`}.`
        : `board.json is not used: a member must agree to its current version. To see it and agree: board projects worktree ${id} --agree`,
  )
}

async function agreeTo(context: Context, id: string, yes: boolean | undefined): Promise<void> {
  const { boardFile } = await context.client.projects.getWorktree({ id })
  if (!boardFile) throw new Failure('notFound', "there is no board.json in the project's folder")
  const { settings, version, problem } = boardFile
  if (!settings || version === null) throw new Failure('failure', `board.json cannot be used: ${problem}`)
  const terms = termsOf(settings)
  if (yes) context.out.doneLines(terms)
  await confirm(context, `Allow the cards of project ${id} to run these commands?`, yes, terms)
  const agreed = await context.client.projects.agreeToBoardFile({ id, version })
  await context.out.did(agreed.effective, 'Agreed to board.json for future starts of agents.')
}

/**
 * Returns the terms that a person agrees to. Continuation lines of a command are indented, so that none looks like another
 * setting or like the closing comment.
 */
const termsOf = (settings: Effective): string =>
  [
    ...commands.flatMap(name => (settings[name] === '' ? [] : [`${name}: ${settings[name]}`])),
    ...(settings.copiedFiles.length > 0 ? [`copies: ${settings.copiedFiles.join(', ')}`] : []),
    ...(settings.subfolder === '' ? [] : [`works in: ${settings.subfolder}`]),
  ]
    .map(term => term.replaceAll(/[\r\n]+/g, '\n    '))
    .join('\n') || 'No commands run, and no files are copied.'

const changeOf = ({ copy, maxTime, ports, ...texts }: Options): Change => ({
  ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, parseSetting(text)])),
  ports: wordAsNull(inherited, ports),
  minutes: wordAsNull(inherited, maxTime),
  copiedFiles: noneAsEmpty(copy),
})

/** Parses a command or folder. `none` removes it, and `board.json` restores the value of that file. */
const parseSetting = (text: string): string | null => (text === inherited ? null : text === 'none' ? '' : text)

function portsOf(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('must be a number from 0 to 10, or board.json.')
  return Number(text)
}

const minutesOf = (text: string): number => Math.ceil(durationSecs(text) / 60)
