import { CardStatus } from '../../src/contract/fields.ts'
import { createBell } from '../output/bell.ts'
import type { Card, CardPlace } from '../cards/cardApi.ts'
import { waitForCards, type Outcome } from '../cards/cardWait.ts'
import type { Context } from '../context/context.ts'
import { describeError } from '../failures/report.ts'
import { Failure } from '../failures/failure.ts'
import { followMessages } from './followMessages.ts'
import { answerCommand, openQuestions } from './questions.ts'
import { createJobs } from '../requests/jobs.ts'
import { watchOutage } from '../requests/outage.ts'
import type { Column } from '../output/output.ts'
import { writeStderr } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

interface Reached {
  id: string
  status: CardStatus | null
  statusReason: string | null
  title: string | null
  error: string | null
}

const columns: Column<Reached>[] = [
  { name: 'id', style: 'id', value: row => row.id },
  { name: 'status', style: 'status', value: row => row.status },
  { name: 'statusReason', header: 'REASON', value: row => row.statusReason },
  { name: 'title', style: 'title', value: row => row.title },
  { name: 'error', hidden: true, value: row => row.error },
]
/** The statuses of a card whose agent has ended, has never started, or waits for a person. */
export const atRest: ReadonlySet<CardStatus> = new Set(
  CardStatus.options.filter(status => status !== 'queued' && status !== 'running'),
)

/**
 * Waits for cards, and prints a line for each card that reaches the state. With `--json`, prints the list at the end.
 * @param reconnectSecs the maximum outage of the server
 */
export async function printReached(
  context: Context,
  places: readonly CardPlace[],
  wanted: ReadonlySet<CardStatus>,
  reconnectSecs: number,
): Promise<Outcome[]> {
  const { out } = context
  const printing = createJobs()
  const outcomes = await waitForCards(context, places, wanted, {
    bell: createBell(context),
    outage: watchOutage(out, reconnectSecs),
    onReached: outcome => {
      // The error of a single card ends the command.
      if ('error' in outcome && !out.json && places.length > 1)
        writeStderr(`board: ${escapeControls(outcome.id)}: ${escapeControls(describeError(outcome.error).message)}\n`)
      if ('card' in outcome && !out.json) printing.add(() => out.row(rowOf(outcome), columns))
    },
  })
  await Promise.race([printing.end(), printing.failed])
  if (out.json) await out.list(outcomes.map(rowOf), columns)
  return outcomes
}

/**
 * Waits until the agents of cards have ended or wait for a person, and prints the results.
 * @throws Failure (failure) if an agent did not complete, with the command that answers a waiting one
 */
export async function untilDone(context: Context, places: readonly CardPlace[], reconnectSecs: number): Promise<void> {
  await requireCompleted(context, await printReached(context, places, atRest, reconnectSecs))
}

/**
 * Prints a card's new messages after ID `since` until its agent has ended or waits for a person.
 * @throws Failure (failure) if the agent did not complete, (interrupted) after Ctrl-C: the agent continues
 */
export async function followUntilDone(
  context: Context,
  place: CardPlace,
  since: string,
  reconnectSecs: number,
): Promise<void> {
  const stop = new AbortController()
  const outage = watchOutage(context.out, reconnectSecs)
  const waiting = waitForCards(context, [place], atRest, { signal: stop.signal, outage })
  waiting.catch(() => {
    /* This promise is awaited below, after all messages are printed. */
  })
  const interrupt = () => stop.abort(interruptionOf(place))
  process.once('SIGINT', interrupt)
  try {
    await followMessages(context, place, { since }, Infinity, waiting)
    await requireCompleted(context, await waiting)
  } finally {
    process.off('SIGINT', interrupt)
    stop.abort()
  }
}

const interruptionOf = ({ cardId }: CardPlace): Failure =>
  new Failure('interrupted', `stopped following card ${cardId}; its agent continues`, {
    hint: `to cancel it: board cards cancel ${cardId}`,
    see: `board agents messages ${cardId} --follow`,
  })

/** Checks the outcomes for all commands that wait for work. @throws Failure (failure) unless every card completed */
export async function requireCompleted(context: Context, outcomes: readonly Outcome[]): Promise<void> {
  const undone = outcomes.filter(outcome => !('card' in outcome && outcome.card.status === 'completed'))
  const [first] = undone
  if (!first) return
  if (outcomes.length > 1) throw new Failure('failure', `${undone.length} of ${outcomes.length} did not complete`)
  throw 'error' in first ? first.error : await undoneFailure(context, first.card)
}

/** The command that answers a waiting card's question, also for a caller who cannot read the question. */
async function answerHint(context: Context, { id, projectId, statusReason }: Card): Promise<string> {
  const questions = await openQuestions(context, { projectId, cardId: id }).catch(() => [])
  const [oldest, another] = questions
  if (oldest && another) return answerCommand(oldest, id)
  const takesText = oldest?.takesText ?? statusReason === 'question'
  return takesText ? `board agents answer ${id} "..."` : `board agents approve ${id}`
}

async function undoneFailure(context: Context, card: Card): Promise<Failure> {
  const { id, status, statusReason, lastAgentAction } = card
  const detail = lastAgentAction?.detail
  if (status === 'waiting' && statusReason === 'silent')
    return new Failure('failure', `card ${id} is silent${detail ? `: ${detail}` : ''}`, {
      hint: `end its turn with: board cards cancel ${id}`,
      see: `board agents messages ${id}`,
    })
  if (status === 'waiting')
    return new Failure('failure', `card ${id} is waiting for you${detail ? `: ${detail}` : ''}`, {
      hint: `answer with: ${await answerHint(context, card)}`,
      see: `board agents messages ${id}`,
    })
  if (status === 'idle') return new Failure('failure', `card ${id}: ${detail ?? 'its agent was not started'}`)
  return new Failure(
    'failure',
    `card ${id} ${statusReason && statusReason !== status ? `${status}: ${statusReason}` : status}`,
    { see: `board agents messages ${id}` },
  )
}

const rowOf = (outcome: Outcome): Reached =>
  'card' in outcome
    ? {
        id: outcome.id,
        status: outcome.card.status,
        statusReason: outcome.card.statusReason,
        title: outcome.card.title,
        error: null,
      }
    : { id: outcome.id, status: null, statusReason: null, title: null, error: describeError(outcome.error).message }
