import { setTimeout as delay } from 'node:timers/promises'
import { Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { isLoopbackHost } from '../../../src/contract/networkHosts.ts'
import { redirectBrowser } from '../../browser/openPage.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { exitOf, Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { escapeControls } from '../../output/text.ts'

type Preview = Output<Contract['previews']['get']>
interface Options {
  open?: boolean
  status?: boolean
  stop?: boolean
}

const pollMs = 1000
/** A quarter of the time after which the server stops a preview without requests. */
const renewMs = 30_000
/** The time after which the command reports that nothing listens on the port yet. */
const slowMs = 15_000

const fields: Column<Preview>[] = [
  { name: 'cardId', header: 'Card', style: 'id', value: ({ cardId }) => cardId },
  { name: 'status', style: 'status', value: ({ status }) => status },
  { name: 'url', header: 'Address', value: ({ url }) => url },
  { name: 'port', value: ({ port }) => port },
  { name: 'startedAt', header: 'Started', style: 'time', value: ({ startedAt }) => startedAt },
  { name: 'endsAt', header: 'Ends', style: 'time', value: ({ endsAt }) => endsAt },
  { name: 'exitCode', header: 'Exit code', value: ({ exitCode }) => exitCode },
  { name: 'reason', style: 'text', value: ({ reason }) => reason },
  { name: 'output', hidden: true, value: ({ output }) => output },
]

export function registerVerbs(cards: Command): void {
  const preview = cards
    .command('preview <card>')
    .summary('Run a live preview of a card')
    .description(
      "Run the project's preview command in a card's worktree, print its address once it accepts connections, and keep it running until Ctrl-C. The command runs in the sandbox of the project's agents. The address opens the preview once, within two minutes, in one browser. If the server is on another machine, the command prints how to reach it.",
    )
    .option('--open', 'open the preview in your browser')
    .addOption(new Option('--status', 'show the status, address and last output of the preview').conflicts('open'))
    .addOption(new Option('--stop', 'stop the preview').conflicts(['open', 'status']))
    .action(async (id: string, { open, status, stop }: Options) => {
      const context = await openContext(preview)
      const { previews } = context.client
      await inItsProject(context, id, async place => {
        if (status) {
          const found = await previews.get(place)
          return context.out.record(found, fields, { body: found.output })
        }
        if (stop) {
          await previews.stop(place)
          return context.out.did({ cardId: place.cardId }, `Stopped the preview of card ${place.cardId}.`)
        }
        await servePreview(context, place, open === true)
      })
    })
  prints(preview, 'previews.get')
  example(
    preview,
    'board cards preview 12',
    'board cards preview 12 --open',
    'board cards preview 12 --status',
    'board cards preview 12 --stop',
    'board cards preview 12 --status --jq .url',
  )
}

/** Serves a card until Ctrl-C, or until the preview has ended. */
async function servePreview(context: Context, place: CardPlace, isOpened: boolean): Promise<void> {
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt)
  try {
    const begun = await context.client.previews.start(place)
    context.out.done(`Starting the preview of card ${place.cardId}. Ctrl-C stops it.`)
    const last = await watchPreview(context, place, begun, { isOpened, signal: interrupted.signal })
    if (last?.status === 'failed') throw failureOf(context, place, last)
    if (!last) await context.client.previews.stop(place)
    context.out.done(`The preview of card ${place.cardId} has ended.`)
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt)
  }
}

/** @returns how the preview ended; undefined after Ctrl-C */
async function watchPreview(
  context: Context,
  place: CardPlace,
  begun: Preview,
  { isOpened, signal }: { isOpened: boolean; signal: AbortSignal },
): Promise<Preview | undefined> {
  const { previews } = context.client
  const beganMs = performance.now()
  let [renewedMs, isAddressPrinted, isSlow, isUnreachable] = [beganMs, false, false, false]
  for (let now = begun; !signal.aborted;) {
    if (now.startedAt !== begun.startedAt || now.status === 'off' || now.status === 'failed') return now
    if (now.status === 'running' && !isAddressPrinted) {
      isAddressPrinted = true
      await showAddress(context, place, now, isOpened)
    }
    if (now.status === 'starting' && !isSlow && performance.now() - beganMs > slowMs) {
      isSlow = true
      context.out.done('Nothing listens on $BOARD_PORT yet. The command must use this port.')
    }
    await delay(pollMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) break
    try {
      now = await previews.get(place)
      const isDue = now.startedAt === begun.startedAt && performance.now() - renewedMs > renewMs
      if (isDue && (now.status === 'starting' || now.status === 'running')) {
        now = await previews.start(place)
        renewedMs = performance.now()
      }
      isUnreachable = false
    } catch (error) {
      if (exitOf(error) !== 'unreachable') throw error
      if (!isUnreachable) context.out.done('The server does not respond; retrying ...')
      isUnreachable = true
    }
  }
  return undefined
}

/** Opens the preview, or prints an address that opens it once, with a command for access from another machine. */
async function showAddress(context: Context, place: CardPlace, preview: Preview, isOpened: boolean): Promise<void> {
  const { out, client, connection } = context
  const { hostname } = new URL(connection.url)
  const isHere = isLoopbackHost(hostname)
  const readAddress = async () => (await client.previews.createTicket(place)).url
  const hasBrowser = isOpened && isHere && (await redirectBrowser(await readAddress()))
  const url = hasBrowser ? preview.url! : await readAddress()
  if (out.json) await out.record({ ...preview, url }, fields)
  else out.line(url)
  if (hasBrowser) return
  if (isOpened && isHere) out.done('No browser was found. Open the address yourself, or set the variable BROWSER.')
  out.done('The address works once, within two minutes. For another one, run this command again.')
  if (isHere) return
  const forwarded = `${preview.port}:${new URL(url).hostname}:${preview.port}`
  out.done(
    `The address is on the server. Before you open it here, run: ssh -L ${forwarded} ${escapeControls(hostname)}`,
  )
}

function failureOf({ out }: Context, { cardId }: CardPlace, { reason, output }: Preview): Failure {
  if (output !== '') out.doneLines(output.trimEnd())
  return new Failure('failure', `the preview of card ${cardId} failed: ${escapeControls(reason ?? '')}`, {
    see: `board cards preview ${cardId} --status`,
  })
}
