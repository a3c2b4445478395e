import { openPage, pagePath } from '../../browser/openPage.ts'
import type { CardPlace } from '../../cards/cardApi.ts'
import type { Context } from '../../context/context.ts'
import { endOf, runInTerminal } from '../../input/terminalProgram.ts'
import type { UserCommand } from '../../context/userCommands.ts'
import type { Msg } from '../state/model.ts'
import type { JobHooks, JobOf, ShownBoard } from './job.ts'

/** The limit of a background command's output. */
const maxOutputBytes = 4096

/** Opens a card's page as `cards view --web` does. */
export async function browseCard({ client, connection }: Context, { projectId, cardId }: CardPlace): Promise<Msg> {
  const opened = await openPage(client, connection, pagePath.card(projectId, cardId))
  return opened.isOpen
    ? { type: 'notice', text: `Opened card ${cardId} in your browser.` }
    : { type: 'refused', text: `No browser was found. Set the variable BROWSER. The page is ${opened.address}` }
}

/** Runs a user command: in the terminal, where its output is shown, or in the background. */
export async function runUserCommand(
  context: Context,
  shown: ShownBoard,
  { command, cardId, cardIds }: JobOf<'userCommand'>,
  suspendWhile: JobHooks['suspendWhile'],
): Promise<Msg | void> {
  const env = { ...process.env, ...(await readEnvironment(context, shown, cardId, cardIds)) }
  if (!command.background) return suspendWhile(() => inTerminal(command, env))
  return inBackground(command, env)
}

/** Variables that describe the card. They contain no token: the command reads its own. */
async function readEnvironment(
  { client, selection }: Context,
  { projectId, projectName }: ShownBoard,
  cardId: string | undefined,
  cardIds: readonly string[],
): Promise<Record<string, string>> {
  const card = cardId === undefined ? undefined : await client.cards.get({ projectId, cardId })
  const values = {
    BOARD_URL: selection.url?.value,
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
  const { end, received } = await runInTerminal(run, [], env)
  if (received !== undefined) return
  const waitForEnter = `printf '\\n%s Press Enter to return to the board. ' "$1"; read -r _`
  await runInTerminal(waitForEnter, ['sh', end === 0 ? 'Done.' : `It ended with ${end}.`], env)
  if (end !== 0) return { type: 'refused', text: `${name} ended with ${end}.` }
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
  if (end === 0) return { type: 'notice', text: `${name}: ${line === '' ? 'done.' : line}` }
  return { type: 'refused', text: `${name} ended with ${end}${line === '' ? '.' : `: ${line}`}` }
}
