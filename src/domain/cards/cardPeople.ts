import { maxAssignees, type Assignee, type Plan } from '../../contract/cards/cardPlan.ts'
import { invalid } from '../../contract/errors.ts'
import { listPeopleOf, setWatching } from '../../store/cards/cardPeople.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { assigneeIdsOf, watchingOf } from '../../views/cards.ts'
import { noAccount, type Caller } from '../accounts/caller.ts'
import { announceAssigned, announceCard } from './cardChanges.ts'
import { noteAssignment } from './inbox.ts'

/** The assignees, priority, due date and size of a card. */
export interface CardPlan extends Plan {
  assigneeIds?: readonly number[]
  /** Assignees without an account. */
  assigneeNames?: readonly string[]
}

/**
 * The stored assignees of a card: accounts, then names. Assigned accounts that have left the project since can stay.
 * @throws Problem VALIDATION_FAILED for an account that does not belong to the project
 */
export async function assigneesFor(
  db: Reader,
  card: Pick<CardRow, 'projectId'> & Partial<Pick<CardRow, 'assignees'>>,
  { assigneeIds, assigneeNames }: CardPlan,
): Promise<{ assignees?: string }> {
  if (!assigneeIds && !assigneeNames) return {}
  const before = JSON.parse(card.assignees ?? '[]') as Assignee[]
  const known = before.filter(each => 'userId' in each)
  const accounts = assigneeIds ? await accountsOf(db, card.projectId, assigneeIds, known) : known
  const names = assigneeNames?.map(name => ({ name })) ?? before.filter(each => 'name' in each)
  if (accounts.length + names.length > maxAssignees)
    throw invalid(
      assigneeIds ? 'assigneeIds' : 'assigneeNames',
      `must not result in more than ${maxAssignees} assignees`,
    )
  return { assignees: JSON.stringify([...accounts, ...names]) }
}

async function accountsOf(
  db: Reader,
  projectId: number,
  ids: readonly number[],
  known: ReadonlyArray<{ userId: string; displayName: string }>,
): Promise<Assignee[]> {
  const people = await listPeopleOf(db, projectId, ids)
  return ids.map((id, at) => {
    const person = people.find(({ userId }) => userId === id)
    const found = person?.displayName ?? known.find(({ userId }) => userId === String(id))?.displayName
    if (found === undefined) throw invalid(`assigneeIds.${at}`, notInProject(id))
    return { userId: String(id), displayName: found }
  })
}

/** The rule for an account that does not belong to a project. */
export const notInProject = (id: number): string => `must be a member of the project, which ${id} is not`

/** @throws Problem VALIDATION_FAILED for a caller without an account */
export function watch(tx: Transaction, card: CardRow, caller: Caller | undefined, watching: boolean): void {
  if (caller === undefined || caller.userId === noAccount) throw invalid('watching', 'requires an account')
  setWatching(tx, card.id, caller.userId, watching)
}

/** Adds the author of a comment to the card's watchers, except for programs with a key, and users who opted out. */
export async function watchByComment(tx: Transaction, card: CardRow, caller: Caller): Promise<void> {
  const { watching, muting } = watchingOf(card)
  if (caller.userId === noAccount || caller.key || [...watching, ...muting].includes(caller.userId)) return
  watch(tx, card, caller, true)
  await announceCard(tx, 'card.updated', card)
}

/** Announces new assignees of a card. They watch the card from now on, unless the caller set otherwise in the same change. */
export async function noteAssigned(
  tx: Transaction,
  before: Pick<CardRow, 'assignees'> | undefined,
  card: CardRow,
  caller: Caller | undefined,
  saysWatching = false,
): Promise<CardRow> {
  if (card.assignees === (before?.assignees ?? '[]')) return card
  const known = before ? assigneeIdsOf(before) : []
  const added = assigneeIdsOf(card).filter(id => !known.includes(id))
  if (added.length === 0) return card
  for (const id of added) if (!saysWatching || id !== caller?.userId) setWatching(tx, card.id, id, null)
  noteAssignment(tx, card.id, added, caller)
  const userId = caller === undefined || caller.userId === noAccount ? null : String(caller.userId)
  return announceAssigned(tx, card, added, { userId, name: caller?.displayName ?? '' })
}
