import type { Command } from 'commander'
import { Live, type LiveMessage } from '../../src/client/socket.ts'
import { events, type EventData } from '../../src/contract/server/events.ts'
import { collect } from '../parsing/arguments.ts'
import { createBell } from '../output/bell.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example } from '../help/help.ts'
import { createJobs } from '../requests/jobs.ts'
import { watchOutage } from '../requests/outage.ts'
import type { Column } from '../output/output.ts'
import { eventSentence } from '../output/eventSentence.ts'
import { isStdoutBroken, stdout } from '../output/streams.ts'
import { nearestWords } from '../output/text.ts'
import { runForEvent } from '../requests/runForEvent.ts'

interface Options {
  type?: string[]
  since?: string
  exec?: string
}

const columns: Column<LiveMessage>[] = [
  { name: 'seq', style: 'id', value: message => message.seq },
  { name: 'at', style: 'time', value: message => message.at },
  { name: 'type', style: 'title', value: message => message.type },
  { name: 'about', value: eventSentence },
  { name: 'projectId', hidden: true, value: message => message.projectId },
  { name: 'data', hidden: true, value: message => message.data },
]

export function register(command: Command): void {
  example(
    command
      .description(
        'Follow the events of the project until Ctrl-C. In a pipe, each event is a line of JSON. On a terminal, notifications follow your settings: board settings get notifications.',
      )
      .option('--type <types>', 'event types, separated by commas, with *: card.*,board.created (repeatable)', collect)
      .option('--since <seq>', 'start after the event with this number')
      .option(
        '--exec <command>',
        'shell command to run for each event, with the event as JSON on stdin and in BOARD_EVENT_TYPE, BOARD_EVENT_SEQ and BOARD_CARD_ID. The next event waits for the command, but not for programs that the command starts in the background (&)',
      ),
    'board events --type card.moved',
    'board events --json --jq .data.title',
    'board events --type card.completed --exec \'notify-send "$BOARD_EVENT_TYPE" "card $BOARD_CARD_ID"\'',
  ).action((options: Options) => followEvents(command, options))
}

async function followEvents(command: Command, options: Options): Promise<void> {
  const wanted = filterOf(options.type ?? [])
  const since = options.since === undefined ? undefined : seqOf(options.since)
  const context = await openContext(command)
  const { id, name } = await context.project()
  const jobs = createJobs()
  const bell = createBell(context)
  const outage = watchOutage(context.out)
  const live = new Live(context.connection, {
    onEvent: message => {
      bell.applyEvent(message)
      if (isAbout(id, message) && (message.type === 'resync' || wanted(message.type)))
        jobs.add(() => printEvent(context, message, options.exec))
    },
    onSubscribed: () => outage.end(),
    onState: ({ name }) => {
      if (name === 'waiting') outage.begin()
      if (name === 'closed') outage.stop()
    },
  })
  live.subscribe(id, since)
  if (context.out.terminal.stdout) context.out.done(`Following project ${name}. Press Ctrl-C to stop.`)
  stdout().on('error', () => live.close())
  jobs.failed.catch(() => live.close())
  await Promise.race([live.done, jobs.failed])
  await jobs.end()
}

/** Excludes updates of the inbox, and notifications of other projects: the server sends those of all projects. */
const isAbout = (projectId: string, { type, data }: LiveMessage): boolean =>
  type === 'notification' ? (data as EventData<'notification'>).projectId === projectId : type !== 'inbox.updated'

async function printEvent({ out, connection }: Context, message: LiveMessage, exec: string | undefined): Promise<void> {
  if (isStdoutBroken()) return
  if (message.type === 'resync') out.warn('the server no longer has all events since then; some are missing')
  if (exec !== undefined) return runForEvent(exec, message, connection.url, out)
  if (out.json || out.quiet || out.terminal.stdout) return out.row(message, columns)
  return out.value(message, true)
}

function filterOf(types: readonly string[]): (type: string) => boolean {
  const wanted = types
    .flatMap(each => each.split(','))
    .map(each => each.trim())
    .filter(Boolean)
  const known = Object.keys(events)
  const matchesType = (pattern: string, type: string) =>
    pattern === type || pattern === '*' || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
  const unknown = wanted.find(pattern => !known.some(type => matchesType(pattern, type)))
  if (unknown !== undefined) {
    const meant = nearestWords(unknown, known)
    throw usage(`there is no event type "${unknown}"`, {
      hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : `known: ${known.join(', ')}`,
      see: 'board events --help',
    })
  }
  return type => wanted.length === 0 || wanted.some(pattern => matchesType(pattern, type))
}

function seqOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw usage(`--since requires the seq of an event, not "${text}"`)
  return Number(text)
}
