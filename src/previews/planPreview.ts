import { Problem } from '../contract/errors.ts'
import type { Database } from '../store/engine/database.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { find as findCard, type CardRef } from '../domain/cards/cards.ts'
import { portsOf } from '../cardWork/cardPorts.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { findRepositories } from '../cardWork/repositoryWorktrees.ts'
import { findWorkplace, requireSubfolder, type Workplace } from '../cardWork/worktrees.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { findWorktreeSettings, whyUnused } from '../cardWork/worktreeSettings.ts'

/** The command that serves a card's worktree, and its location. */
export interface PreviewPlan {
  card: CardRow
  project: ProjectRow
  command: string
  place: Workplace
  /** The first port is the one that users open. */
  ports: readonly [number, ...number[]]
}

/**
 * Determines how a card's worktree is served.
 * @throws Problem CARD_NOT_FOUND; CONFLICT if the project has no preview command, the card is archived or has no folder yet, or
 * all ports are taken
 */
export async function planPreview(
  worktrees: Worktrees,
  db: Database,
  dataDir: string,
  ref: CardRef,
): Promise<PreviewPlan> {
  const [card, project] = await Promise.all([findCard(db, ref), findProject(db, ref.projectId)])
  const { effective, boardFile } = await findWorktreeSettings(worktrees, db, project)
  if (effective.preview === '')
    throw new Problem(
      'CONFLICT',
      ['The project has no preview command.', whyUnused(project.id, boardFile) ?? howToSet(project.id)].join(' '),
    )
  if (card.archivedAt !== null) throw new Problem('CONFLICT', 'The card is archived.')
  const found = await findWorkplace(card, project)
  const repositories = await findRepositories(db, card, project)
  const place = { ...found, cwd: await requireSubfolder(found.cwd, effective.subfolder), repositories }
  const [first, ...others] = await portsOf(db, dataDir, card.id, effective.ports)
  return { card, project, command: effective.preview, place, ports: [first!, ...others] }
}

const howToSet = (projectId: number): string =>
  `To set one: board projects worktree ${projectId} --preview "npm run dev -- --port $BOARD_PORT"`
