import { continueWork } from '../agents/sessions/sessionCommands.ts'
import { advancesByItself } from '../agents/sessions/advancePipeline.ts'
import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import { textOfReview } from '../agents/sessions/prompts/reviewMessage.ts'
import type { ReviewWithComments } from '../cardWork/reviews.ts'
import { Problem } from '../contract/errors.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import { readNext } from '../domain/cards/pipeline.ts'
import { failuresOf, judge, listGatesOfStep } from '../domain/cards/proofs.ts'
import type { GateRow } from '../store/boards/gates.ts'
import type { CardRow } from '../store/cards/cards.ts'
import { readProof, type ProofRow } from '../store/cards/proofs.ts'
import type { Transaction } from '../store/engine/database.ts'
import { listReviewComments, readReviewOfSession } from '../store/forges/reviews.ts'
import { readProject } from '../store/projects/projects.ts'
import { bySystem, insertAuditRow } from '../store/server/audit.ts'

/** The part of a gate's output that an agent receives. */
const maxOutputLength = 4000

/**
 * Sends a card in auto mode back to its agent if its gates have failed, with the reasons and the end of the outputs.
 * @param trees the trees of the card's current files
 * @returns false if no gate has failed, the card has used up its rounds, or no agent can continue
 */
export async function sendBack(
  tx: Transaction,
  supervisor: Supervisor,
  card: CardRow,
  trees: string,
): Promise<boolean> {
  const column = advancesByItself(card) ? await readNext(tx, card) : undefined
  if (column === undefined) return false
  const failed = failuresOf(await judge(tx, card, await listGatesOfStep(tx, card, column), trees), trees)
  if (failed.length === 0 || failed.some(({ proof }) => isOfBoard(proof!))) return false
  const texts = await Promise.all(failed.map(({ gate, proof }) => describeFailure(tx, gate, proof!)))
  return continueInRound(tx, supervisor, card, round =>
    [`Your work has not passed ${countOf(failed.length)} (${round}).`, ...texts, closing].join('\n\n'),
  )
}

/**
 * Continues a card's agent with the reason why its work was not accepted, if the card has a round left.
 * @param describe the message. It contains "round 1 of 3"
 * @returns false if the card has used up its rounds, or no agent can continue
 */
export async function continueInRound(
  tx: Transaction,
  supervisor: Supervisor,
  card: CardRow,
  describe: (round: string) => string,
): Promise<boolean> {
  const rounds = (await readProject(tx, card.projectId))?.gateRounds ?? 0
  if (card.gateRounds >= rounds) return false
  const round = card.gateRounds + 1
  const message = describe(`round ${round} of ${rounds}`)
  const isContinued = await continueWork(tx, supervisor, card, message).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Problem && error.status < 500) return false
      throw error
    },
  )
  if (!isContinued) return false
  await changeCard(tx, card, { gateRounds: round })
  insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: card.id }, 'gate'))
  return true
}

/** Whether a command could not run, which the agent cannot change. */
export const isOfBoard = ({ status, exitCode }: Pick<ProofRow, 'status' | 'exitCode'>): boolean =>
  status === 'error' && exitCode === null

const countOf = (gates: number): string => (gates === 1 ? 'a gate' : `${gates} gates`)
export const closing = 'Fix the cause. Do not weaken the check. The gates run again when you have finished.'

/** A failed gate with the end of its output, or its review. Text of the command is quoted, because it is untrusted. */
export async function describeFailure(
  tx: Transaction,
  { name, command }: Pick<GateRow, 'name' | 'command'>,
  { cardId, id, sessionId }: Pick<ProofRow, 'cardId' | 'id' | 'sessionId'>,
): Promise<string> {
  const review = sessionId === null ? undefined : await readReviewOfSession(tx, sessionId)
  if (review) return describeReview(name, { ...review, comments: await listReviewComments(tx, cardId, review.id) })
  const { exitCode, summary, output } = (await readProof(tx, cardId, id))!
  const how = exitCode === null ? summary : `The command ended with exit code ${exitCode}.`
  const end = output.slice(-maxOutputLength).toWellFormed().trimEnd()
  const quoted = end.split('\n').map(line => `> ${line}`)
  return [
    `The gate ${name} failed: \`${command}\``,
    how,
    ...(end === '' ? [] : ['The end of its output:', quoted.join('\n')]),
  ].join('\n')
}

const describeReview = (name: string, review: ReviewWithComments): string =>
  [`The gate ${name} failed: its reviewer ${review.authorName} requests changes.`, ...textOfReview(review)].join('\n\n')
