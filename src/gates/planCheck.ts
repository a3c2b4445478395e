import { portsOf } from '../cardWork/cardPorts.ts'
import { listProvableTrees } from '../cardWork/provedTrees.ts'
import { textOfTrees, workIn, type WorkTree } from '../cardWork/repositoryWork.ts'
import { findRepositories } from '../cardWork/repositoryWorktrees.ts'
import { findWorkplace, requireSubfolder, type Workplace } from '../cardWork/worktrees.ts'
import { findWorktreeSettings } from '../cardWork/worktreeSettings.ts'
import { compareWork } from '../cardWork/changes.ts'
import { diffFiles } from '../contract/forges/diffFiles.ts'
import { Problem } from '../contract/errors.ts'
import { find as findCard } from '../domain/cards/cards.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { find as findGate } from '../domain/boards/gates.ts'
import { isCommand, judge, listGatesAhead } from '../domain/cards/proofs.ts'
import type { GateRow } from '../store/boards/gates.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { OpenProof, ProofChange } from '../store/cards/proofs.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { namePaths } from '../worktrees/namePaths.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

/** A gate of a card, where it runs, and the card's files before it. */
export interface CheckPlan {
  gate: GateRow
  card: CardRow
  project: ProjectRow
  place: Workplace
  ports: readonly number[]
  trees: WorkTree[]
}

/** The end of a gate. */
export type CheckResult = Pick<ProofChange, 'status' | 'exitCode' | 'summary'>

interface PlanDependencies {
  db: Database
  worktrees: Worktrees
  dataDir: string
}

/**
 * Determines how a gate checks a card.
 * @throws Problem CARD_NOT_FOUND, GATE_NOT_FOUND; CONFLICT if the card has no files to check
 */
export async function planCheck(
  { db, worktrees, dataDir }: PlanDependencies,
  { projectId, cardId, gateId }: Pick<OpenProof, 'projectId' | 'cardId' | 'gateId'>,
): Promise<CheckPlan> {
  const [card, project] = [await findCard(db, { projectId, cardId }), await findProject(db, projectId)]
  const gate = await findGate(db, { projectId, gateId })
  // Stored, to name the files that the command changes.
  const trees = await listProvableTrees(worktrees, db, card, project, { stores: true })
  if (trees === undefined) throw new Problem('CONFLICT', 'The card has no files to check.')
  const { effective } = await findWorktreeSettings(worktrees, db, project)
  const found = await findWorkplace(card, project)
  const repositories = await findRepositories(db, card, project)
  const place = { ...found, cwd: await requireSubfolder(found.cwd, effective.subfolder), repositories }
  return { gate, card, project, place, ports: await portsOf(db, dataDir, card.id, effective.ports), trees }
}

/** Whether a command has failed for the files of a review. It does not start then, because the files will change. */
export async function hasFailedCommand(
  db: Reader,
  { card, gate }: Pick<CheckPlan, 'card' | 'gate'>,
  trees: string,
): Promise<boolean> {
  if (isCommand(gate)) return false
  const commands = (await listGatesAhead(db, card)).filter(isCommand)
  const judged = await judge(db, card, commands, trees)
  return judged.some(({ proof }) => proof?.status === 'failed' && proof.trees === trees)
}

/** The card's trees after a gate, and the names of the files that changed. */
export async function findChanges(
  { db, worktrees }: PlanDependencies,
  { card, project, trees }: CheckPlan,
): Promise<{ trees: string; changed: string[] }> {
  const present = await listProvableTrees(
    worktrees,
    db,
    await findCard(db, { projectId: project.id, cardId: card.id }),
    project,
  )
  if (present === undefined) return { trees: '', changed: [] }
  const changed: string[] = []
  for (const { repository, tree } of trees) {
    if (present.some(each => each.repository === repository && each.tree === tree)) continue
    const work = await workIn(db, card, project, repository)
    const comparison = await compareWork(worktrees, work.card, work.project, { since: tree })
    changed.push(...diffFiles(comparison?.work.diff ?? '').map(({ path }) => path))
  }
  return { trees: textOfTrees(present), changed }
}

/** The result of a gate during which files of the card changed. */
export function changedFiles(gate: Pick<GateRow, 'kind'>, changed: readonly string[]): CheckResult {
  const names = changed.length === 0 ? 'files' : namePaths(changed)
  return isCommand(gate)
    ? {
        status: 'error',
        exitCode: 0,
        summary: `The command changed ${names}. Commit the change, or have Git ignore the files.`,
      }
    : { status: 'error', exitCode: null, summary: `During the review, something changed ${names}.` }
}
