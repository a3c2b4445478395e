import { tmpdir } from 'node:os'
import { landedAction } from '../contract/cardRecords.ts'
import { isChanged } from '../git/changes.ts'
import { hasLanded } from '../git/landed.ts'
import { openQuarantine } from '../git/quarantine.ts'
import type { Repository } from '../git/repository.ts'
import { readCard, type CardRow } from '../store/cards.ts'
import type { Database, Transaction } from '../store/database.ts'
import { noteAction } from './agentActions.ts'
import { changeCardIfThere } from './cardChanges.ts'

/** In which branch a card's work in one of its repositories is already. */
export interface Landed {
  base: string
  repository: string
}

/** What people are told of work that is in its base under another name. */
export const landedWords = ({ base, repository }: Landed): string =>
  `Its work${repository && ` in ${repository}`} is in ${base} already, by commits of other names, as a squash makes them. Its worktree can go.`

/**
 * The commit of a worktree all of whose own work is in a base under another name: by a squash or a rebase. Undefined where some of it is
 * not, or is uncommitted, or where it has nothing of its own.
 */
export async function findLanded(place: Repository, branch: string, base: string): Promise<string | undefined> {
  const quarantine = await openQuarantine(place.topLevel, tmpdir(), place)
  try {
    const tip = (await quarantine.refs()).find(({ name }) => name === `refs/heads/${branch}`)?.id
    if (tip === undefined || (await isChanged(quarantine))) return undefined
    const own = await quarantine.run(['rev-list', '--max-count=1', `${base}..${tip}`])
    return own.length > 0 && (await hasLanded(quarantine, tip, base)) ? tip : undefined
  } finally {
    await quarantine.close()
  }
}

/** Says on a card that its work is in its base. */
export async function noteLanded(db: Database, { id, projectId }: CardRow, landed: Landed): Promise<void> {
  const action = { type: landedAction, detail: landedWords(landed) }
  await db.transaction(tx => noteAction(tx, { projectId, cardId: id }, action))
}

/** Takes that back, where it is still what was said last. */
export async function forgetLanded(tx: Transaction, { id, projectId }: CardRow): Promise<void> {
  const card = await readCard(tx, projectId, id)
  const last = card?.lastAgentAction ? (JSON.parse(card.lastAgentAction) as { type: string }) : null
  if (card && last?.type === landedAction) await changeCardIfThere(tx, card, { lastAgentAction: null })
}
