import { Live, type LiveMessage } from '../../src/client/socket.ts'
import type { CardStatus } from '../../src/contract/fields.ts'
import type { Bell } from '../output/bell.ts'
import { getCard, type Card, type CardPlace } from './cardApi.ts'
import { atWork, isWorkExpected } from './expectedWork.ts'
import type { Context } from '../context/context.ts'
import { exitOf, Failure } from '../failures/failure.ts'
import type { Outage } from '../requests/outage.ts'
import { createRefresher } from '../requests/refresher.ts'

/** The result of waiting for a card: the card in the awaited state, or an error if the card cannot reach the state. */
export type Outcome = { id: string; card: Card } | { id: string; error: unknown }
export interface WaitOptions {
  /** Reports outages of the server, and limits them. */
  outage: Outage
  /** Called once per card, when the card reaches the awaited state. */
  onReached?: (outcome: Outcome) => void
  /** Ends the wait. */
  signal?: AbortSignal
  /** Receives every event during the wait. */
  bell?: Bell
}

/** The polling interval in addition to events, in case an event is missed. */
const safetyNetMs = 10_000
/** The polling interval without events. */
const pollMs = 2000

/**
 * Waits until each card has one of the statuses, by live events, or by polling if there are none. The wait for a card ends
 * with an error if only a user can give it such a status.
 * @returns in the order of `places`
 * @throws Failure (timed out) after `--timeout`, Failure (unreachable) after too long an outage, and the signal's reason
 */
export async function waitForCards(
  context: Context,
  places: readonly CardPlace[],
  wanted: ReadonlySet<CardStatus>,
  { onReached = () => {}, signal, bell, outage }: WaitOptions,
): Promise<Outcome[]> {
  const pending = new Pending(context, places, wanted, onReached)
  const { timeout } = context.globals
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
    if (timeout)
      timer = setTimeout(
        () =>
          reject(
            new Failure('timedOut', `timed out after ${timeout} s; still waiting for ${pending.describeLeft()}`, {
              hint: 'no agent was stopped; to wait longer: --timeout 1h',
            }),
          ),
        timeout * 1000,
      )
  })
  try {
    await Promise.race([pending.readAll(), late])
    if (!pending.isOver) await Promise.race([followCards(context, pending, outage, bell), late, outage.exceeded])
    return pending.outcomes()
  } finally {
    clearTimeout(timer)
    pending.stop()
    outage.stop()
  }
}

async function followCards(context: Context, pending: Pending, outage: Outage, bell: Bell | undefined): Promise<void> {
  const refreshed = createRefresher(() => pending.readMarked(), outage)
  const readAll = () => {
    pending.markAll()
    refreshed.again()
  }
  let timer = setInterval(readAll, safetyNetMs)
  const live = new Live(context.connection, {
    onSubscribed: readAll,
    onEvent: message => {
      bell?.applyEvent(message)
      if (pending.applyEvent(message)) refreshed.again()
    },
    onState: ({ name }) => {
      if (name === 'waiting' && !pending.isOver) outage.begin()
    },
  })
  for (const projectId of pending.projects()) live.subscribe(projectId)
  live.done.catch(() => {
    clearInterval(timer)
    if (pending.isOver) return
    timer = setInterval(readAll, pollMs)
    readAll()
  })
  try {
    await Promise.race([pending.over, refreshed.failed])
    await bell?.awaitNotifications(
      pending.outcomes().flatMap(outcome => (outcome && 'card' in outcome ? [outcome.card] : [])),
    )
  } finally {
    pending.stop()
    clearInterval(timer)
    live.close()
  }
}

/** The cards that have not reached the state yet. */
class Pending {
  /** Resolves when all cards have reached the state, or the wait is stopped. */
  readonly over: Promise<void>
  readonly #context: Context
  readonly #wanted: ReadonlySet<CardStatus>
  readonly #onReached: (outcome: Outcome) => void
  readonly #places: ReadonlyMap<string, CardPlace>
  /** Card ID -> its last known status. */
  readonly #left: Map<string, CardStatus | undefined>
  readonly #marked = new Set<string>()
  readonly #announced = new Set<string>()
  readonly #outcomes = new Map<string, Outcome>()
  #isStopped = false
  #finish: () => void = () => {
    /* The constructor replaces this function. */
  }

  constructor(
    context: Context,
    places: readonly CardPlace[],
    wanted: ReadonlySet<CardStatus>,
    onReached: (outcome: Outcome) => void,
  ) {
    this.#context = context
    this.#wanted = wanted
    this.#onReached = onReached
    this.#places = new Map(places.map(place => [place.cardId, place]))
    this.#left = new Map(places.map(({ cardId }) => [cardId, undefined]))
    this.over = new Promise(resolve => {
      this.#finish = resolve
    })
  }

  get isOver(): boolean {
    return this.#isStopped || this.#left.size === 0
  }

  projects(): Set<string> {
    return new Set([...this.#places.values()].map(({ projectId }) => projectId))
  }
  outcomes(): Outcome[] {
    return [...this.#places.keys()].map(id => this.#outcomes.get(id)!)
  }
  describeLeft(): string {
    return [...this.#left].map(([id, status]) => (status ? `${id} (${status})` : id)).join(', ')
  }
  /** Stops all reads and reports. */
  stop(): void {
    this.#isStopped = true
    this.#finish()
  }

  markAll(): void {
    for (const id of this.#left.keys()) this.#marked.add(id)
  }

  async readAll(): Promise<void> {
    this.markAll()
    await this.readMarked()
  }

  /** Reads the cards that events have marked. */
  async readMarked(): Promise<void> {
    for (const id of this.#marked) {
      this.#marked.delete(id)
      if (!this.isOver && this.#left.has(id)) await this.#read(id)
    }
  }

  /**
   * Handles an event.
   * @returns whether a card must be read. Cards at rest are read, because an agent that continues automatically ends only briefly.
   */
  applyEvent({ type, data }: LiveMessage): boolean {
    if (type === 'resync') this.markAll()
    const card = type.startsWith('card.') ? (data as Card) : undefined
    if (!card || !this.#left.has(card.id)) return type === 'resync'
    // The status might have changed when the card is read.
    if (atWork.has(card.status) && this.#wanted.has(card.status)) this.#reached({ id: card.id, card })
    else this.#marked.add(card.id)
    return true
  }

  async #read(id: string): Promise<void> {
    try {
      const card = await getCard(this.#context, this.#places.get(id)!)
      if (this.#left.has(id)) this.#left.set(id, card.status)
      if (this.#wanted.has(card.status)) this.#reached({ id, card })
      else if (!(await isWorkExpected(this.#context, card))) this.#reached({ id, error: this.#stuck(card) })
      else if (card.status === 'waiting') this.#announceQuestion(card)
    } catch (error) {
      if (exitOf(error) !== 'notFound') throw error
      this.#reached({ id, error })
    }
  }

  #stuck({ id, status, statusReason }: Card): Failure {
    const state = statusReason && statusReason !== status ? `${status} (${statusReason})` : status
    return new Failure(
      'failure',
      `card ${id} is ${state}, and nothing is scheduled that can change its status to ${[...this.#wanted].join(' or ')}`,
      { hint: `start it with: board cards run ${id}`, see: `board agents view ${id}` },
    )
  }

  /** The agent waits for a person, who can be away. */
  #announceQuestion({ id, statusReason, lastAgentAction }: Card): void {
    if (this.#announced.has(id)) return
    this.#announced.add(id)
    const detail = lastAgentAction?.detail ?? statusReason
    this.#context.out.done(`Card ${id} is waiting for you${detail ? `: ${detail}` : '.'}`)
  }

  #reached(outcome: Outcome): void {
    if (this.#isStopped || !this.#left.delete(outcome.id)) return
    this.#outcomes.set(outcome.id, outcome)
    this.#onReached(outcome)
    if (this.#left.size === 0) this.#finish()
  }
}
