import { spawn } from 'node:child_process'
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
  lend: CmdHooks['lend'],
): Promise<Msg | void> {
  const env = { ...process.env, ...(await environmentOf(context, shown, cardId, cardIds)) }
  if (!command.background) return lend(() => inTerminal(command, env))
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
  const code = await ended('sh', ['-c', run], env)
  const tell = `printf '\\n%s Enter goes back to the board. ' "$1"; read -r _`
  await ended('sh', ['-c', tell, 'sh', code === 0 ? 'Done.' : `It ended with ${code}.`], env)
  if (code !== 0) return { type: 'refused', text: `${name} ended with ${code}.` }
}

const ended = (file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number | string> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env })
    child.on('error', error => reject(new Failure('failure', `the command cannot be started: ${error.message}`)))
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'a signal'))
  })

function inBackground({ name, run }: UserCommand, env: NodeJS.ProcessEnv): Promise<Msg> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', run], { stdio: ['ignore', 'pipe', 'pipe'], env })
    let output = ''
    const keep = (piece: Buffer) => {
      if (output.length < maxOutputBytes) output += piece.toString().slice(0, maxOutputBytes)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', error => reject(new Failure('failure', `the command cannot be started: ${error.message}`)))
    child.on('close', (code, signal) => {
      const line = output.trim().split('\n')[0]!
      if (code === 0) return resolve({ type: 'said', text: `${name}: ${line === '' ? 'done.' : line}` })
      resolve({ type: 'refused', text: `${name} ended with ${code ?? signal}${line === '' ? '.' : `: ${line}`}` })
    })
  })
}
