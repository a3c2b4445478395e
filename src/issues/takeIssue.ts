import { create } from '../domain/cards/cards.ts'
import { noAccount, type Caller } from '../domain/accounts/caller.ts'
import type { ForgeIssue } from '../forge/forge.ts'
import { insertCardIssue, readCardIssue } from '../store/cards/cardIssues.ts'
import { listDefaultColumns } from '../store/boards/columns.ts'
import type { Transaction } from '../store/engine/database.ts'
import { authorName, cardTexts, digestOf } from './texts.ts'
import type { IssueDependencies, IssueSync } from './issueDependencies.ts'

/**
 * Creates a card from an open issue in the first backlog column of the default board, unless the issue already had one. The card
 * starts nothing and no column pulls it, because a stranger might have written it: a project member must take it up. A full
 * column also accepts it.
 */
export async function takeIssue(
  tx: Transaction,
  { agents }: IssueDependencies,
  sync: IssueSync,
  issue: ForgeIssue,
): Promise<void> {
  const { projectId, key: forge, name: forgeName, settings } = sync
  const { number, url, state } = issue
  if (state !== 'open' || (await readCardIssue(tx, projectId, forge, number))) return
  const columns = await listDefaultColumns(tx, projectId)
  const texts = cardTexts(issue, { label: settings.issueLabel, forgeName })
  const column = columns.find(({ columnType }) => columnType === 'backlog')
  const card = await create(
    tx,
    agents,
    {
      projectId,
      caller: stranger(authorName(issue.author, forgeName)),
      ...texts,
      columnId: column?.id,
      useWorktree: true,
      issue: { number, url, state },
      force: true,
    },
    true,
  )
  await insertCardIssue(tx, {
    projectId,
    cardId: card.id,
    forge,
    number,
    url,
    title: card.title,
    promptDigest: digestOf(card.prompt),
    phase: 'open',
    changedAt: issue.updatedAt,
    done: card.doneAt !== null,
    commentsFrom: settings.issueComments ? tx.now : null,
    // The comments are imported next.
    dueAt: tx.now,
  })
  sync.tally.imported++
}

/** The author of an issue: without an account on this server, and without permissions to start anything. */
const stranger = (displayName: string): Caller => ({
  kind: 'agent',
  userId: noAccount,
  role: 'user',
  email: '',
  displayName,
  tokenHash: '',
})
