import type { Result } from 'execa'
import { getCard, type CardPlace } from '../../cards/cardApi.ts'
import type { Context } from '../../context/context.ts'
import { Failure } from '../../failures/failure.ts'
import type { UserCommand } from '../../context/userCommands.ts'
import type { Msg } from '../state/model.ts'
import type { CmdHooks, JobOf, Shown } from './runner.ts'

/** How much of a background command's output is kept to be shown. */
const maxOutputBytes = 4096

/** Shows a card as `cards view --web` does. */
export async function browseCard(context: Context, place: CardPlace): Promise<Msg> {
  const [{ cardPage }, { openPage }] = await Promise.all([
    import('../../pages/cardPage.ts'),
    import('../../pages/showPage.ts'),
  ])
  const { path, isOpen } = await openPage(context, await cardPage(context, await getCard(context, place)))
  return isOpen
    ? { type: 'said', text: `Opened card ${place.cardId} in your browser.` }
    : { type: 'refused', text: `There is no browser to open; name one in BROWSER. The page is ${path}` }
}

/** Runs a command of the person's: in the terminal, where the person reads what it says, or in the background. */
export async function runUserCommand(
  context: Context,
  shown: Shown,
  { command, cardId, cardIds }: JobOf<'userCommand'>,
  suspendWhile: CmdHooks['suspendWhile'],
): Promise<Msg | void> {
  const env = { ...process.env, ...(await environmentOf(context, shown, cardId, cardIds)) }
  if (!command.background) return suspendWhile(() => inTerminal(command, env))
  return inBackground(command, env)
}

/** What a command is about. Its token is its own to find: none is handed on. */
async function environmentOf(
  { client, discovery }: Context,
  { projectId, projectName }: Shown,
  cardId: string | undefined,
  cardIds: readonly string[],
): Promise<Record<string, string>> {
  const card = cardId === undefined ? undefined : await client.cards.get({ projectId, cardId })
  const values = {
    BOARD_URL: discovery.url?.value,
    BOARD_PROJECT: projectId,
    BOARD_PROJECT_NAME: projectName,
    BOARD_CARD_IDS: cardIds.join(' '),
    BOARD_CARD_ID: cardId ?? '',
    BOARD_CARD_TITLE: card?.title ?? '',
    BOARD_CARD_STATUS: card?.status ?? '',
    BOARD_CARD_COLUMN: card?.columnName ?? '',
    BOARD_CARD_BRANCH: card?.gitBranch ?? '',
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value.replaceAll('\0', '')]],
    ),
  )
}

async function inTerminal({ name, run }: UserCommand, env: NodeJS.ProcessEnv): Promise<Msg | void> {
  const code = await runToEnd('sh', ['-c', run], env)
  const waitForEnter = `printf '\\n%s Enter goes back to the board. ' "$1"; read -r _`
  await runToEnd('sh', ['-c', waitForEnter, 'sh', code === 0 ? 'Done.' : `It ended with ${code}.`], env)
  if (code !== 0) return { type: 'refused', text: `${name} ended with ${code}.` }
}

async function runToEnd(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number | string> {
  const { execa } = await import('execa')
  return endOf(await execa(file, args, { stdio: 'inherit', env, extendEnv: false, reject: false }))
}

async function inBackground({ name, run }: UserCommand, env: NodeJS.ProcessEnv): Promise<Msg> {
  const { execa } = await import('execa')
  const options = { stdin: 'ignore', buffer: false, env, extendEnv: false, reject: false } as const
  const command = execa('sh', ['-c', run], options)
  let output = ''
  for (const stream of [command.stdout, command.stderr])
    stream?.on('data', (piece: Buffer) => {
      if (output.length < maxOutputBytes) output += piece.toString().slice(0, maxOutputBytes)
    })
  const end = endOf(await command)
  const line = output.trim().split('\n')[0]!
  if (end === 0) return { type: 'said', text: `${name}: ${line === '' ? 'done.' : line}` }
  return { type: 'refused', text: `${name} ended with ${end}${line === '' ? '.' : `: ${line}`}` }
}

/** The exit code, or the signal that ended it. @throws Failure where it was not started */
function endOf({
  exitCode,
  signal,
  originalMessage,
}: Pick<Result, 'exitCode' | 'signal' | 'originalMessage'>): number | string {
  const end = exitCode ?? signal
  if (end === undefined) throw new Failure('failure', `the command cannot be started: ${originalMessage}`)
  return end
}
