import { createHash } from 'node:crypto'
import { Problem } from '../../contract/errors.ts'
import { listGates, listGatesBetween, type GateRow } from '../../store/boards/gates.ts'
import { listVerdicts, type VerdictRow } from '../../store/forges/reviews.ts'
import { listColumns, type ColumnRow } from '../../store/boards/columns.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { listLatestProofs, type ProofRow } from '../../store/cards/proofs.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { readProject } from '../../store/projects/projects.ts'
import { bySystem, insertAuditRow } from '../../store/server/audit.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { isSufficient, maySkipGates } from '../accounts/access.ts'
import { byCaller } from '../accounts/auditEntries.ts'
import type { Caller } from '../accounts/caller.ts'
import { approverIdsOf } from '../boards/gates.ts'

/*
 * A gate is a command that must succeed for a card's files, an agent that must approve them, or a number of people. The result of a command or
 * an agent is a proof, which counts for exactly these files and this definition of the gate. The approval of a person is a review, which
 * counts for the files that it reviewed. Every way to move a card forward or to merge it calls `requireProofs`.
 */

/** A gate for a card. `reason` is why the card has not passed it; null if it has. */
export interface CardGate {
  gate: GateRow
  /** The latest result of a command or an agent. */
  proof: ProofRow | undefined
  /** The names of the people who approve the card's current files. */
  approvedBy: string[]
  reason: string | null
}

export const isCommand = ({ kind }: Pick<GateRow, 'kind'>): boolean => kind === 'command'
/** Whether the board runs a gate: it is not one of people. */
export const needsProof = ({ kind }: Pick<GateRow, 'kind'>): boolean => kind !== 'approval'

/** Identifies what a gate checks. */
export const definitionOf = ({ command, agent, profile, prompt }: GateRow): string =>
  createHash('sha256')
    .update(JSON.stringify([command, agent, profile, prompt]))
    .digest('hex')

/**
 * Which gates a card has passed with its current files.
 * @param trees the trees of these files; null if the card has none
 */
export async function judge(
  db: Reader,
  card: Pick<CardRow, 'id' | 'status'>,
  gates: readonly GateRow[],
  trees: string | null,
): Promise<CardGate[]> {
  if (gates.length === 0) return []
  const proofs = new Map((await listLatestProofs(db, card.id)).map(proof => [proof.gateId, proof]))
  const verdicts = gates.every(needsProof) ? [] : await listVerdicts(db, card.id)
  const present = verdicts.filter(verdict => verdict.trees === trees)
  return gates.map(gate => {
    const proof = proofs.get(gate.id)
    const counted = present.filter(verdict => canApprove(gate, verdict))
    const reason =
      whyNoFiles(card, trees) ?? (needsProof(gate) ? whyNotPassed(gate, proof, trees!) : whyNotApproved(gate, counted))
    const approvedBy = counted.filter(({ verdict }) => verdict === 'approve').map(({ authorName }) => authorName)
    return { gate, proof, approvedBy: needsProof(gate) ? [] : approvedBy, reason }
  })
}

function whyNoFiles(card: Pick<CardRow, 'status'>, trees: string | null): string | null {
  if (hasActiveAgent(card)) return 'The agent is working, so the files can change.'
  return trees === null ? 'The card has no files to check.' : null
}

function whyNotPassed(gate: GateRow, proof: ProofRow | undefined, trees: string): string | null {
  if (!proof) return 'It has not run.'
  if (proof.status === 'queued') return 'It waits to run.'
  if (proof.status === 'running') return 'It is running.'
  if (proof.definition !== definitionOf(gate)) return 'The gate has changed since it ran.'
  // A check that ended before it started knows no files.
  if (proof.status === 'superseded' || (proof.trees !== trees && proof.trees !== ''))
    return 'The files have changed since it ran.'
  return proof.status === 'passed' && proof.trees === trees ? null : `It failed: ${proof.summary}`
}

/** Whether a verdict counts for a gate: its author has the role, and is one of the approvers. */
function canApprove(gate: GateRow, { authorId, authorRole }: VerdictRow): boolean {
  const ids = approverIdsOf(gate)
  return isSufficient(authorRole, gate.approverRole ?? 'member') && (ids.length === 0 || ids.includes(authorId ?? 0))
}

/** @param counted the latest verdict of each of the gate's approvers about the card's current files */
function whyNotApproved({ approvals }: GateRow, counted: readonly VerdictRow[]): string | null {
  const against = counted.find(({ verdict }) => verdict === 'request_changes')
  if (against) return `${against.authorName || 'A person'} requests changes.`
  const wanted = approvals ?? 1
  if (counted.length >= wanted) return null
  return wanted === 1
    ? 'An approval of these files is missing.'
    : `${counted.length} of ${wanted} people have approved these files.`
}

/** The gates that are ahead of a card: those of its column, of the later columns of its board, and of the merge. */
export async function listGatesAhead(db: Reader, card: CardRow): Promise<GateRow[]> {
  const all = await listGates(db, card.projectId)
  if (all.length === 0) return []
  const columns = (await listColumns(db, card.boardId)).map(({ id }) => id)
  const ahead = card.columnType === 'archive' ? columns : columns.slice(columns.indexOf(card.columnId))
  return all.filter(({ columnId }) => columnId === null || ahead.includes(columnId))
}

/** Whether the landing queue merges a card in auto mode before the board moves it to a column: the last step of a project that lands its cards. */
export async function landsBefore(
  db: Reader,
  card: CardRow,
  { columnType }: Pick<ColumnRow, 'columnType'>,
): Promise<boolean> {
  const isDue = columnType === 'done' && card.kind === 'kanban' && card.useWorktree === 1 && card.mergedAt === null
  return isDue && (await readProject(db, card.projectId))?.land === 'when_proved'
}

/**
 * The gates that a card in auto mode passes before the board moves it to a column. If it is merged first, these include the approvals and
 * reviews of the merge: the queue runs only the commands.
 */
export async function listGatesOfStep(db: Reader, card: CardRow, column: ColumnRow): Promise<GateRow[]> {
  if (column.projectHasGates === 0) return []
  const between = await listGatesBetween(db, card.columnId, column.id)
  if (!(await landsBefore(db, card, column))) return between
  const ofMerge = await listMergeGates(db, card.projectId)
  return [...between, ...ofMerge.filter(gate => !isCommand(gate))]
}

/** The gates before a merge. */
export const listMergeGates = async (db: Reader, projectId: number): Promise<GateRow[]> =>
  (await listGates(db, projectId)).filter(({ columnId }) => columnId === null)

/** A step that requires proofs. Without a caller, the board takes it itself. */
interface Step {
  card: CardRow
  gates: readonly GateRow[]
  /** The trees of the card's files, which were read before the transaction: null if it has none, undefined if they were not read. */
  trees: string | null | undefined
  caller: Caller | undefined
  force: boolean | undefined
}

/** The step requires proofs, and the trees of the card's files were not read. They cannot be read in the transaction. */
export class TreesUnread extends Error {}

/**
 * Requires that a card has passed gates. With `force`, an admin of the project can take the step anyway, and the board where it follows a
 * forge; both are in the audit log.
 * @throws Problem GATE_NOT_PASSED, whose details name the gates; TreesUnread for a step of a caller
 */
export async function requireProofs(tx: Transaction, { card, gates, trees, caller, force }: Step): Promise<void> {
  if (gates.length === 0) return
  if (trees === undefined && caller !== undefined) throw new TreesUnread()
  const missing = (await judge(tx, card, gates, trees ?? null)).filter(({ reason }) => reason !== null)
  if (missing.length === 0) return
  const names = missing.map(({ gate }) => gate.name).join(', ')
  if (force && (caller === undefined || (await maySkipGates(tx, caller, card.projectId)))) {
    const target = { kind: 'card', id: card.id }
    insertAuditRow(
      tx,
      caller ? byCaller('gates.force', caller, target, { gates: names }) : bySystem('gates.force', target, 'forge'),
    )
    return
  }
  const [first, ...others] = missing
  const more =
    others.length === 0
      ? ''
      : ` ${others.length === 1 ? 'One more gate is' : `${others.length} more gates are`} missing.`
  const hint = force
    ? 'Only an admin of the project can use force.'
    : needsProof(first!.gate)
      ? `To run its gates: board cards check ${card.id}`
      : `To approve: board cards review ${card.id} --approve`
  throw new Problem(
    'GATE_NOT_PASSED',
    `The card has not passed the gate ${first!.gate.name}. ${first!.reason}${more} ${hint}`,
    {
      details: missing.map(({ gate, reason }) => ({ path: gate.name, message: reason! })),
    },
  )
}

/** Whether a card has passed gates with its current files. */
export const hasPassed = async (
  db: Reader,
  card: CardRow,
  gates: readonly GateRow[],
  trees: string | null,
): Promise<boolean> => (await judge(db, card, gates, trees)).every(({ reason }) => reason === null)

/** The gates that failed for a card's files. Empty while a gate waits or runs. A review does not run once a command has failed. */
export function failuresOf(judged: readonly CardGate[], trees: string | null): CardGate[] {
  const run = judged.filter(({ gate }) => needsProof(gate))
  const failed = run.filter(({ reason, proof }) => reason !== null && proof && !isOpen(proof) && proof.trees === trees)
  const isPending = run.some(({ gate, proof }) => (proof ? isOpen(proof) : isCommand(gate) || failed.length === 0))
  return isPending ? [] : failed
}

export const isOpen = ({ status }: Pick<ProofRow, 'status'>): boolean => status === 'queued' || status === 'running'
