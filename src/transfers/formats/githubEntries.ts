import { importError } from '../importErrors.ts'
import { toStorableText } from '../../domain/cards/fitCardTexts.ts'
import { list, record, type Entry } from './draft.ts'

/** Fields that become a part of a card, or that the card does not need. */
const known = new Set(
  `number title body bodyText bodyHTML labels state stateReason state_reason assignees assignee milestone url html_url author user comments
  createdAt created_at updatedAt updated_at closedAt closed_at mergedAt merged_at closed merged id node_id databaseId isPullRequest
  pull_request __typename author_association authorAssociation content repository score draft isDraft _links`.split(
    /\s+/,
  ),
)
/** Lists whose entries have a title and are not issues. */
const otherLists = new Set(['milestones', 'labels', 'discussions', 'fieldValues', 'projects', 'projectItems'])
/** Lists of issues. An object with one of them is not an issue. */
const issueLists = ['data', 'items', 'issues', 'pullRequests', 'nodes', 'edges']

/** The issues in an object: itself, or those in its lists. @throws Problem INVALID_IMPORT if it has neither */
export function issuesIn(place: string, entry: Entry): Entry[] {
  const found = [...descend(entry)]
  if (found.length > 0 || hasLists(entry)) return found
  const message = toStorableText(record(list(entry.errors)[0]).message ?? entry.message)
  if (message) throw importError(place, `contains an error from GitHub: ${message.slice(0, 200)}`)
  throw Object.keys(entry).length === 0
    ? importError('', 'the file must be a list of issues, as gh issue list --json prints it')
    : importError(`${place}.title`, 'is required. Add title to the fields of gh issue list --json')
}

function* descend(value: unknown): Generator<Entry> {
  if (Array.isArray(value)) for (const each of value) yield* descend(each)
  const entry = record(value)
  if (typeof entry.title === 'string' && !hasLists(entry)) yield { ...record(entry.content), ...entry }
  else for (const [key, each] of Object.entries(entry)) if (!otherLists.has(key)) yield* descend(each)
}

const hasLists = (entry: Entry): boolean =>
  issueLists.some(key => typeof entry[key] === 'object' && entry[key] !== null)

/** The page of an issue. The REST API also returns the address of the issue in the API. */
export const addressOf = ({ html_url, url }: Entry): string =>
  (toStorableText(html_url) || toStorableText(url))
    .replace(/^(https?:\/\/)api\.(github\.com\/)repos\//, '$1$2')
    .replace(/^(https?:\/\/[^/]+\/)api\/v3\/repos\//, '$1')
    .replace(/\/pulls\/(\d+)$/, '/pull/$1')

/** The APIs list pull requests among issues, with additional fields. */
export const isPullRequest = (issue: Entry): boolean =>
  Object.keys(record(issue.pull_request)).length > 0 ||
  issue.isPullRequest === true ||
  issue['__typename'] === 'PullRequest' ||
  ['mergedAt', 'merged_at', 'headRefName', 'head'].some(field => issue[field] !== undefined) ||
  /^merged$/i.test(toStorableText(issue.state)) ||
  /\/pull\/\d+$/.test(addressOf(issue))

/** Fields whose content the board does not support on a card. Addresses of the API are not content. */
export const unknownFields = (issue: Entry): string[] =>
  Object.entries(issue)
    .filter(([field, value]) =>
      field.startsWith('reaction')
        ? hasReactions(issue)
        : !known.has(field) && !field.endsWith('_url') && !isEmpty(value),
    )
    .map(([field]) => field)

/** GitHub shows comments of deleted accounts as those of "ghost". */
export const authorOf = ({ author, user }: Entry): unknown => record(author ?? user).login ?? 'ghost'

/** Whether there are reactions: a list of groups, or counts. */
export const hasReactions = ({ reactionGroups, reactions }: Entry): boolean =>
  list(reactionGroups).some(group => Number(record(record(group).users).totalCount ?? 1) > 0) ||
  Number(record(reactions).total_count ?? record(reactions).totalCount ?? 0) > 0

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  value === 0 ||
  (typeof value === 'object' && Object.values(value).every(isEmpty))
