import { continueWork } from '../agents/sessions/sessionCommands.ts'
import { advancesByItself } from '../agents/sessions/advancePipeline.ts'
import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import { Problem } from '../contract/errors.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import { readNext } from '../domain/cards/pipeline.ts'
import { failuresOf, judge, type CardGate } from '../domain/cards/proofs.ts'
import { listGatesBetween } from '../store/boards/gates.ts'
import type { CardRow } from '../store/cards/cards.ts'
import { readProof } from '../store/cards/proofs.ts'
import type { Transaction } from '../store/engine/database.ts'
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
  const failed = failuresOf(await judge(tx, card, await listGatesBetween(tx, card.columnId, column.id), trees), trees)
  const rounds = (await readProject(tx, card.projectId))?.gateRounds ?? 0
  if (failed.length === 0 || failed.some(isOfBoard) || card.gateRounds >= rounds) return false
  const round = card.gateRounds + 1
  const texts = await Promise.all(failed.map(each => describeFailure(tx, each)))
  const message = [
    `Your work has not passed ${countOf(failed.length)} (round ${round} of ${rounds}).`,
    ...texts,
    closing,
  ].join('\n\n')
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
const isOfBoard = ({ proof }: CardGate): boolean => proof!.status === 'error' && proof!.exitCode === null

const countOf = (gates: number): string => (gates === 1 ? 'a gate' : `${gates} gates`)
const closing = 'Fix the cause. Do not weaken the check. The gates run again when you have finished.'

/** Text of the command is quoted, because it is untrusted. */
async function describeFailure(tx: Transaction, { gate, proof }: CardGate): Promise<string> {
  const { exitCode, summary, output } = (await readProof(tx, proof!.cardId, proof!.id))!
  const how = exitCode === null ? summary : `The command ended with exit code ${exitCode}.`
  const end = output.slice(-maxOutputLength).toWellFormed().trimEnd()
  const quoted = end.split('\n').map(line => `> ${line}`)
  return [
    `The gate ${gate.name} failed: \`${gate.command}\``,
    how,
    ...(end === '' ? [] : ['The end of its output:', quoted.join('\n')]),
  ].join('\n')
}
