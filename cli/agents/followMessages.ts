import { answerCommand, questionLines } from './questions.ts'
import { Live, type LiveMessage } from '../../src/client/socket.ts'
import type { EventData } from '../../src/contract/server/events.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { CardStatus } from '../../src/contract/fields.ts'
import type { Output } from '../../src/contract/route.ts'
import type { CardPlace } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { createJobs, type Jobs } from '../requests/jobs.ts'
import { watchOutage } from '../requests/outage.ts'
import { exitOf } from '../failures/failure.ts'
import { createBell } from '../output/bell.ts'
import { createPrinter, type MessagePrinter } from './messagePrinter.ts'
import { hiddenBySettings, readMessages, type MessageFilter } from './messages.ts'
import { stdout } from '../output/streams.ts'

type Session = Output<Contract['agents']['sessions']>[number]
type Permission = EventData<'agent.permission'>

/** The maximum time that messages of a cancelled agent are awaited. An agent can send messages until its processes end. */
const lastWordsMs = 3000
const retryMs = 1000
const atWork: ReadonlySet<CardStatus> = new Set<CardStatus>(['queued', 'running', 'waiting'])

/**
 * Prints a card's messages and follows new ones without a gap. Messages are read after the server has confirmed the
 * subscription, and again after `until`, which ends the function.
 * @param filter the first messages to print: the last `limit` messages, or everything after `since`
 * @throws ApiFailure | Unreachable if the server rejects the subscription
 */
export async function followMessages(
  context: Context,
  place: CardPlace,
  filter: MessageFilter,
  limit: number,
  until?: Promise<unknown>,
): Promise<void> {
  const jobs = createJobs()
  const talk = new Talk(context, place, filter, limit, {
    jobs,
    printer: createPrinter(context, await hiddenBySettings(context)),
  })
  const bell = createBell(context)
  // An outage can begin while messages are read. The next reading returns the missing ones.
  const read = (work: () => Promise<void>) =>
    jobs.add(() =>
      work().catch((error: unknown) => {
        if (exitOf(error) !== 'unreachable') throw error
        talk.readAgain()
        setTimeout(() => read(() => talk.begin()), retryMs).unref()
      }),
    )
  let status: CardStatus = 'idle'
  // With `until`, the wait reports outages.
  const outage = until ? undefined : watchOutage(context.out)
  const live = new Live(context.connection, {
    onSubscribed: () => {
      outage?.end()
      read(() => talk.begin())
    },
    onEvent: message => {
      bell.applyEvent(message)
      if (message.type === 'agent.status' && (message.data as Session).cardId === place.cardId)
        status = (message.data as Session).status
      read(() => talk.applyEvent(message))
    },
    onState: ({ name }) => {
      if (name === 'waiting') outage?.begin()
    },
  })
  live.subscribe(place.projectId)
  stdout().on('error', () => live.close())
  let isFinished = true
  const untilOver = until?.catch((error: unknown) => {
    isFinished = !/^(unreachable|interrupted)$/.test(exitOf(error))
  })
  try {
    await Promise.race([live.done, jobs.failed, ...(untilOver ? [untilOver] : [])])
    if (until && isFinished) jobs.add(() => talk.finish())
    await Promise.race([jobs.end(), jobs.failed])
    if (until && isFinished) await bell.awaitNotifications([{ id: place.cardId, status }])
  } finally {
    outage?.stop()
    live.close()
  }
}

/** Follows the messages of all sessions of a card, or of one session. */
class Talk {
  readonly #context: Context
  readonly #place: CardPlace
  readonly #filter: MessageFilter
  readonly #limit: number
  readonly #jobs: Jobs
  readonly #printer: MessagePrinter
  /** Session ID -> whether its messages are shown. */
  readonly #sessions = new Map<string, boolean>()
  readonly #ending = new Map<string, NodeJS.Timeout>()
  #hasBegun = false

  constructor(
    context: Context,
    place: CardPlace,
    filter: MessageFilter,
    limit: number,
    { jobs, printer }: { jobs: Jobs; printer: MessagePrinter },
  ) {
    this.#context = context
    this.#place = place
    this.#filter = filter
    this.#limit = filter.since === undefined ? limit : Infinity
    this.#jobs = jobs
    this.#printer = printer
  }

  /** Reads the existing messages on the first call. After a reconnect, the server replays missed events. */
  async begin(): Promise<void> {
    if (!this.#hasBegun) await this.#read()
  }

  /** Ignores events until the next reading, which includes their messages. */
  readAgain(): void {
    this.#hasBegun = false
  }

  async applyEvent({ type, data }: LiveMessage): Promise<void> {
    // The first read includes everything before it.
    if (!this.#hasBegun) return
    if (type === 'resync') return this.#read()
    if (type === 'agent.status') return this.#hearStatus(data as Session)
    if (type === 'agent.permission') {
      const asked = data as Permission
      if (!(await this.#isOurs(asked.sessionId))) return
      const [title, ...lines] = questionLines(asked)
      for (const line of [`The agent is waiting for you: ${title}`, ...lines]) this.#printer.say(line)
      this.#printer.say(`Answer with: ${answerCommand(asked, this.#place.cardId)}`)
    } else if (type === 'agent.message' || type === 'agent.tool' || type === 'agent.plan') {
      // The card is known; the messages are printed as the route returns them.
      const { cardId: _id, cardTitle: _title, ...message } = data as EventData<'agent.message'>
      if (await this.#isOurs(message.sessionId)) await this.#printer.show(message)
    }
  }

  /** Prints the remaining messages, including incomplete ones. */
  async finish(): Promise<void> {
    await this.#read()
    for (const [sessionId, isOurs] of this.#sessions) if (isOurs) await this.#printer.end(sessionId)
  }

  async #hearStatus({ sessionId, status, statusReason }: Session): Promise<void> {
    if (sessionId === null || !(await this.#isOurs(sessionId))) return
    clearTimeout(this.#ending.get(sessionId))
    if (atWork.has(status)) return
    if (status === 'cancelled' || status === 'interrupted')
      this.#ending.set(
        sessionId,
        setTimeout(() => this.#jobs.add(() => this.#printer.end(sessionId)), lastWordsMs).unref(),
      )
    else await this.#printer.end(sessionId)
    this.#printer.say(
      `Session ${sessionId} ${status}${statusReason && statusReason !== status ? `: ${statusReason}` : ''}.`,
    )
  }

  /** Reads the sessions before the messages, so that an event reports each session that ends during the read. */
  async #read(): Promise<void> {
    const sessions = await this.#readSessions()
    const { since } = this.#printer
    const messages = await readMessages(
      this.#context,
      this.#place,
      since === undefined ? this.#filter : { ...this.#filter, since },
      since === undefined ? this.#limit : Infinity,
    )
    for (const message of messages) await this.#printer.show(message)
    for (const { sessionId, status } of sessions)
      if (sessionId !== null && !atWork.has(status)) await this.#printer.end(sessionId)
    this.#hasBegun = true
  }

  async #readSessions(): Promise<Session[]> {
    const sessions = await this.#context.client.agents.sessions(this.#place)
    for (const { sessionId } of sessions)
      if (sessionId !== null)
        this.#sessions.set(sessionId, this.#filter.sessionId === undefined || this.#filter.sessionId === sessionId)
    return sessions
  }

  async #isOurs(sessionId: string): Promise<boolean> {
    if (!this.#sessions.has(sessionId)) {
      await this.#readSessions()
      if (!this.#sessions.has(sessionId)) this.#sessions.set(sessionId, false)
    }
    return this.#sessions.get(sessionId)!
  }
}
