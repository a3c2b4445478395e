import type { ProofStatus } from '../../contract/cards/proofs.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import type { CardRow } from './cards.ts'
import { defineRecord, id, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

export const proofFields = {
  id: id(),
  projectId: id(),
  cardId: id(),
  gateId: id(),
  /** Of a merge in the landing queue. Null for the card's own files. */
  landingId: id().orNull(),
  /** Of a reviewer, with its agent and its cost. Null for a command. */
  sessionId: id().orNull(),
  agent: text().orNull().computed('(SELECT agent FROM agent_sessions WHERE id = r.session_id)'),
  costUsd: number().orNull().computed('(SELECT cost_usd FROM agent_sessions WHERE id = r.session_id)'),
  /** Identifies the gate's command or prompt at the time of the request. */
  definition: text(),
  /** The trees of the card's files in all repositories. Empty until the gate runs. */
  trees: text().initially(''),
  status: text<ProofStatus>(),
  exitCode: number().orNull(),
  summary: text().initially(''),
  /** The end of the command's output or of the reviewer's transcript, and the number of characters before it. */
  output: text().initially(''),
  outputStart: number().initially(0),
  attempts: number().initially(0),
  /** The name of the user or agent who asked for the check. Null for the board. */
  requestedBy: text().orNull(),
  /** Why an open check is being stopped. */
  stopReason: text().orNull(),
  createdAt: text().initiallyNow(),
  startedAt: text().orNull(),
  finishedAt: text().orNull(),
}
export type ProofRow = Row<typeof proofFields>
export type NewProof = NewRow<typeof proofFields>
export type ProofChange = Change<typeof proofFields>

/** The number of proofs that are kept for each card and gate. */
const keptProofs = 10

const record = defineRecord('proofs', 'r', proofFields)
const withoutOutput = record.columnsOf(
  (Object.keys(proofFields) as Array<keyof typeof proofFields>).filter(name => name !== 'output'),
)
const isOpen = `r.status IN ('queued', 'running')`

/** A proof with its output. */
export const readProof = (db: Reader, cardId: number, id: number): Promise<ProofRow | undefined> =>
  db.get(`SELECT ${record.columns} FROM proofs r WHERE r.id = ? AND r.card_id = ?`, [id, cardId])

/** The latest proof of each gate for a card's own files, without outputs. */
export const listLatestProofs = (db: Reader, cardId: number): Promise<ProofRow[]> =>
  db.all(
    `SELECT ${withoutOutput}, '' AS output FROM proofs r
     WHERE r.card_id = ?1 AND r.id IN (SELECT max(id) FROM proofs WHERE card_id = ?1 AND landing_id IS NULL GROUP BY gate_id) ORDER BY r.id`,
    [cardId],
  )

/** The results of a merge in the landing queue, without outputs. */
export const listLandingProofs = (db: Reader, landingId: number): Promise<ProofRow[]> =>
  db.all(`SELECT ${withoutOutput}, '' AS output FROM proofs r WHERE r.landing_id = ? ORDER BY r.id`, [landingId])
/** Deletes the results of a merge that is tested again. */
export const deleteLandingProofs = (tx: Transaction, landingId: number): void =>
  tx.enqueue('DELETE FROM proofs WHERE landing_id = ?', [landingId])

/** Whether a gate has passed for a card's files with a definition. */
export const findPassed = async (
  db: Reader,
  { cardId, gateId, definition, trees }: Pick<ProofRow, 'cardId' | 'gateId' | 'definition' | 'trees'>,
): Promise<boolean> =>
  (await db.get(
    `SELECT 1 FROM proofs WHERE card_id = ? AND gate_id = ? AND definition = ? AND trees = ? AND status = 'passed'`,
    [cardId, gateId, definition, trees],
  )) !== undefined

const openFields = ['id', 'projectId', 'cardId', 'gateId', 'status', 'stopReason', 'attempts'] as const
/** An open check with the status of its card. */
export type OpenProof = Pick<ProofRow, (typeof openFields)[number]> & {
  cardStatus: CardRow['status']
}

/** The open checks of this machine's projects, in the order of the gates, and oldest first. */
export const listOpenProofs = (db: Reader): Promise<OpenProof[]> =>
  db.all(
    `SELECT ${record.columnsOf(openFields)}, c.status AS cardStatus
     FROM proofs r JOIN projects p ON p.id = r.project_id JOIN gates g ON g.id = r.gate_id JOIN cards c ON c.id = r.card_id
     WHERE ${isOpen} AND r.landing_id IS NULL AND p.host IS ? AND c.deleted_at IS NULL ORDER BY g.position, r.id`,
    [db.host],
  )

/** Adds a proof, and deletes the card's oldest proofs of the gate. */
export async function insertProof(tx: Transaction, proof: NewProof): Promise<number> {
  const id = await record.insert(tx, proof)
  tx.enqueue(
    `DELETE FROM proofs WHERE card_id = ?1 AND gate_id = ?2 AND id NOT IN
       (SELECT id FROM proofs WHERE card_id = ?1 AND gate_id = ?2 ORDER BY id DESC LIMIT ${keptProofs})`,
    [proof.cardId, proof.gateId],
  )
  return id
}
export const updateProof = (tx: Transaction, id: number, change: ProofChange): void => record.update(tx, id, change)
export const deleteProof = (tx: Transaction, id: number): void => tx.enqueue('DELETE FROM proofs WHERE id = ?', [id])

/** Marks a card's earlier results of a gate as superseded, before one for other files or another definition. */
export const supersedeProofs = (
  tx: Transaction,
  { id, cardId, gateId }: Pick<ProofRow, 'id' | 'cardId' | 'gateId'>,
): void =>
  tx.enqueue(
    `UPDATE proofs SET status = 'superseded'
     WHERE card_id = ? AND gate_id = ? AND id < ? AND landing_id IS NULL AND status IN ('passed', 'failed', 'error')`,
    [cardId, gateId, id],
  )
