import type { Placed } from '../jsonFile.ts'
import { toStorableText, fitCardTexts, nameOf, toStorableTime, Warnings } from '../../domain/cards/fitCardTexts.ts'
import { issueSource } from './cardSource.ts'
import { list, record, type Draft, type DraftCard, type Entry, type DraftColumn } from './draft.ts'
import { addressOf, authorOf, hasReactions, isPullRequest, issuesIn, unknownFields } from './githubEntries.ts'

/** The columns of issues by their state. `map` can assign other columns to their keys. */
const open: DraftColumn = { key: 'open', name: undefined, columnType: 'backlog' }
const closed: DraftColumn = { key: 'closed', name: undefined, columnType: 'done' }

/**
 * Reads issues from the output of `gh issue list --json` and `gh pr list --json`, and from responses of the REST and GraphQL
 * APIs. The cards are created in the order of the issues' numbers.
 * @throws Problem INVALID_IMPORT
 */
export async function readGithub(objects: AsyncIterable<Placed>, withPullRequests: boolean): Promise<Draft> {
  const reader = new IssueReader(withPullRequests)
  for await (const { place, value } of objects) reader.take(place, record(value))
  return reader.draft()
}

class IssueReader {
  readonly #withPullRequests: boolean
  readonly #warnings = new Warnings()
  readonly #issues: Entry[] = []
  /** Comments that are separate objects, as in lists of the REST API, by the address of their issue. */
  readonly #comments = new Map<string, Entry[]>()
  #name: string | undefined

  constructor(withPullRequests: boolean) {
    this.#withPullRequests = withPullRequests
  }

  take(place: string, entry: Entry): void {
    if (typeof entry.issue_url === 'string' && typeof entry.title !== 'string') this.#takeComment(entry)
    else for (const issue of issuesIn(place, entry)) this.#takeIssue(issue)
  }

  #takeComment(comment: Entry): void {
    const address = addressOf({ url: comment.issue_url })
    const others = this.#comments.get(address)
    if (others) others.push(comment)
    else this.#comments.set(address, [comment])
  }

  #takeIssue(issue: Entry): void {
    this.#name ??= /^https?:\/\/[^/]+\/([^/]+\/[^/]+)\/(?:issues|pull)\//.exec(addressOf(issue))?.[1]
    if (!this.#withPullRequests && isPullRequest(issue))
      return this.#warnings.count('Skipped pull requests, which are included only on request')
    for (const field of unknownFields(issue))
      this.#warnings.count(`Issues with the unsupported field ${field.slice(0, 50)}`)
    this.#issues.push(issue)
  }

  draft(): Draft {
    // Lists of gh have the newest issue first. The sort keeps the order of issues without a number.
    const numberOf = ({ number }: Entry) => (typeof number === 'number' ? number : 0)
    const cards = this.#issues
      .toReversed()
      .sort((a, b) => numberOf(a) - numberOf(b))
      .map(issue => this.#cardOf(issue))
    for (const { length } of this.#comments.values())
      this.#warnings.count('Skipped comments on issues that are not in the file', length)
    return { name: this.#name, columns: [open, closed], cards, warnings: this.#warnings.list() }
  }

  #cardOf(issue: Entry): DraftCard {
    const state = toStorableText(issue.state)
    const mergedAt = toStorableTime(issue.mergedAt ?? issue.merged_at ?? record(issue.pull_request).merged_at)
    const isClosed =
      /^(?:closed|merged)$/i.test(state) || issue.closed === true || issue.merged === true || mergedAt !== undefined
    return {
      column: isClosed ? closed : open,
      source: issueSource(addressOf(issue), issue),
      isArchived: false,
      createdAt: toStorableTime(issue.createdAt ?? issue.created_at),
      updatedAt: toStorableTime(issue.updatedAt ?? issue.updated_at),
      doneAt: toStorableTime(issue.closedAt ?? issue.closed_at) ?? mergedAt,
      creatorName: nameOf(record(issue.author ?? issue.user).login) || undefined,
      ...fitCardTexts(
        {
          title: issue.title,
          sections: [toStorableText(issue.body ?? issue.bodyText), factsOf(issue)],
          labels: this.#nodes(issue.labels, 'Labels').map(label =>
            typeof label === 'string' ? label : record(label).name,
          ),
          assignees: this.#assignees(issue),
          comments: this.#commentsOf(issue),
        },
        this.#warnings,
      ),
    }
  }

  #assignees({ assignees, assignee }: Entry): unknown[] {
    const people = this.#nodes(assignees, 'Assignees')
    return (people.length === 0 && assignee ? [assignee] : people).map(person =>
      typeof person === 'string' ? person : record(person).login,
    )
  }

  #commentsOf(issue: Entry) {
    const address = addressOf(issue)
    const separate = this.#comments.get(address.replace('/pull/', '/issues/')) ?? []
    this.#comments.delete(address.replace('/pull/', '/issues/'))
    const count = typeof issue.comments === 'number' ? { totalCount: issue.comments - separate.length } : issue.comments
    return [...this.#nodes(count, 'Comments'), ...separate].map(record).map(comment => {
      const { body, bodyText, createdAt, created_at } = comment
      this.#warnings.count('Comments imported without their reactions', hasReactions(comment) ? 1 : 0)
      return { authorName: authorOf(comment), body: body ?? bodyText, createdAt: createdAt ?? created_at }
    })
  }

  /** A list, which is a connection with `nodes` or `edges` in GraphQL. */
  #nodes(value: unknown, what: string): unknown[] {
    const { nodes, edges, totalCount } = record(value)
    const found = Array.isArray(value) ? value : [...list(nodes), ...list(edges).map(edge => record(edge).node)]
    if (typeof totalCount === 'number')
      this.#warnings.count(`${what} that are not in the file`, Math.max(0, totalCount - found.length))
    return found.filter(node => node !== null)
  }
}

function factsOf(issue: Entry): string {
  const address = addressOf(issue)
  const reason = toStorableText(issue.stateReason ?? issue.state_reason)
    .toLowerCase()
    .replaceAll('_', ' ')
  const milestone = toStorableText(record(issue.milestone).title)
  return [
    address
      ? `GitHub ${isPullRequest(issue) ? 'pull request' : 'issue'}: ${address}`
      : typeof issue.number === 'number'
        ? `GitHub issue #${issue.number}`
        : '',
    milestone && `Milestone: ${milestone}`,
    reason && reason !== 'reopened' && `Closed as: ${reason}`,
  ]
    .filter(Boolean)
    .join('\n')
}
