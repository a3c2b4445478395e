import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { GateRow } from '../../store/boards/gates.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import {
  deleteProof,
  insertProof,
  listLatestProofs,
  readProof,
  supersedeProofs,
  updateProof,
  type ProofChange,
  type ProofRow,
} from '../../store/cards/proofs.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { proof as proofView } from '../../views/gates.ts'
import { nameOf, type Caller } from '../accounts/caller.ts'
import { find as findCard, type CardRef } from './cards.ts'
import { definitionOf, isOpen, judge } from './proofs.ts'
import { requireMayChangeStart, requireMayStart } from './startPermission.ts'

/** The runner's function that the rules of proofs use. */
export interface Checks {
  /** After the commit: reconciles commands with open checks. */
  reconcile(tx: Transaction): void
}

/**
 * Requests checks of a card. A gate that already waits or runs, or that has passed for the same files, does not run again.
 * The result can continue a card in auto mode, and a review starts an agent, so the caller must be allowed to start it.
 * @param caller who asks; undefined for the board
 * @throws Problem AGENT_ALREADY_RUNNING, INSUFFICIENT_PERMISSIONS
 */
export async function requestChecks(
  tx: Transaction,
  card: CardRow,
  gates: readonly GateRow[],
  trees: string | null,
  caller: Caller | undefined,
): Promise<ProofRow[]> {
  if (caller) await requireMayChangeStart(tx, caller, card)
  if (hasActiveAgent(card))
    throw new Problem(
      'AGENT_ALREADY_RUNNING',
      'An agent is working on the card. Its gates can run when it has finished.',
    )
  const checks: ProofRow[] = []
  for (const { gate, proof, reason } of await judge(tx, card, gates, trees)) {
    const isDue = !proof || (reason !== null && !isOpen(proof))
    if (isDue && gate.kind === 'review' && caller) requireMayStart(caller, card.kind)
    checks.push(isDue ? await requestCheck(tx, card, gate, caller) : proof)
  }
  return checks
}

async function requestCheck(
  tx: Transaction,
  card: Pick<CardRow, 'id' | 'projectId'>,
  gate: GateRow,
  caller: Caller | undefined,
): Promise<ProofRow> {
  const id = await insertProof(tx, {
    projectId: card.projectId,
    cardId: card.id,
    gateId: gate.id,
    definition: definitionOf(gate),
    status: 'queued',
    requestedBy: caller ? nameOf(caller) : null,
  })
  return announce(tx, card.id, id)
}

/** Stops a card's open checks, which end soon. @throws Problem CARD_NOT_FOUND */
export async function cancelChecks(tx: Transaction, checks: Checks, ref: CardRef & { caller: Caller }): Promise<void> {
  const { id: cardId } = await findCard(tx, ref)
  for (const proof of await listLatestProofs(tx, cardId)) {
    if (!isOpen(proof) || proof.stopReason !== null) continue
    updateProof(tx, proof.id, { stopReason: `Stopped by ${nameOf(ref.caller)}.` })
  }
  checks.reconcile(tx)
}

/**
 * Marks a check as started for files. Earlier results of the gate are superseded.
 * @returns false if the check's gate or card was deleted
 */
export async function beginCheck(
  tx: Transaction,
  { id, cardId }: Pick<ProofRow, 'id' | 'cardId'>,
  subject: Pick<ProofRow, 'trees' | 'definition'>,
): Promise<boolean> {
  const proof = await readProof(tx, cardId, id)
  if (!proof) return false
  supersedeProofs(tx, proof)
  updateProof(tx, id, { ...subject, status: 'running', startedAt: tx.now, attempts: proof.attempts + 1 })
  await announce(tx, cardId, id)
  return true
}

/** Records the end of a check, unless its gate or card was deleted. */
export async function endCheck(
  tx: Transaction,
  { id, cardId }: Pick<ProofRow, 'id' | 'cardId'>,
  end: ProofChange,
): Promise<void> {
  const proof = await readProof(tx, cardId, id)
  if (!proof || !isOpen(proof)) return
  updateProof(tx, id, { ...end, ...(end.status !== 'queued' && { finishedAt: tx.now }) })
  await announce(tx, cardId, id)
}

/** @throws Problem PROOF_NOT_FOUND */
export async function findProof(db: Reader, ref: CardRef & { proofId: number }): Promise<ProofRow> {
  const { id: cardId } = await findCard(db, ref)
  const proof = await readProof(db, cardId, ref.proofId)
  if (!proof) throw new Problem('PROOF_NOT_FOUND')
  return proof
}

/** Drops a check that is not needed: an earlier result counts. */
export async function dropCheck(tx: Transaction, { id, cardId }: Pick<ProofRow, 'id' | 'cardId'>): Promise<void> {
  updateProof(tx, id, { status: 'superseded' })
  await announce(tx, cardId, id)
  deleteProof(tx, id)
}

async function announce(tx: Transaction, cardId: number, id: number): Promise<ProofRow> {
  const proof = (await readProof(tx, cardId, id))!
  await appendEvent(tx, 'proof.updated', proof.projectId, proofView(proof))
  return proof
}
