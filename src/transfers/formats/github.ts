import { importError } from '../importErrors.ts'
import type { JsonFile } from '../jsonFile.ts'
import {
  clean,
  fit,
  list,
  nameOf,
  record,
  time,
  Warnings,
  type Draft,
  type DraftCard,
  type Entry,
  type Source,
  type Text,
} from './draft.ts'

/** Issues' states by their names in `map`. */
const open: Source = { key: 'open', name: undefined, columnType: 'backlog' }
const closed: Source = { key: 'closed', name: undefined, columnType: 'done' }

const known = new Set([
  'number',
  'title',
  'body',
  'labels',
  'state',
  'stateReason',
  'assignees',
  'milestone',
  'url',
  'author',
  'comments',
  'createdAt',
  'updatedAt',
  'closedAt',
  'closed',
  'id',
  'isPullRequest',
  'pull_request',
])

/**
 * Reads what `gh issue list --json number,title,body,labels,state,...` prints, or the API. The cards stand, and are made, in
 * the order of the issues' numbers.
 * @throws Problem INVALID_IMPORT
 */
export async function readGithub(file: JsonFile, withPullRequests: boolean): Promise<Draft> {
  if (!file.isList) throw importError('', 'the file must be a list of issues, as gh issue list --json prints it')
  const warnings = new Warnings()
  const cards: Array<{ number: number; card: DraftCard }> = []
  let name: string | undefined
  for await (const { place, value } of file.entries()) {
    const issue = record(value)
    if (typeof issue.title !== 'string') throw importError(`${place}.title`, 'is required: ask gh for the field title')
    name ??= /^https?:\/\/[^/]+\/([^/]+\/[^/]+)\/(?:issues|pull)\//.exec(clean(issue.url))?.[1]
    if (!withPullRequests && isPullRequest(issue)) {
      warnings.count('Pull requests, left out unless they are asked for')
      continue
    }
    for (const [field, held] of Object.entries(issue))
      warnings.count(
        `Issues whose field ${field.slice(0, 50)} has no place here`,
        known.has(field) || isEmpty(held) ? 0 : 1,
      )
    cards.push({ number: typeof issue.number === 'number' ? issue.number : 0, card: cardOf(issue, warnings) })
  }
  // As gh lists them, the newest stands first. The sort keeps the order of those without a number.
  const inOrder = cards.reverse().sort((a, b) => a.number - b.number)
  return { name, sources: [open, closed], cards: inOrder.map(({ card }) => card), warnings: warnings.list() }
}

/** The API lists pull requests among issues, with a field of their own; others have it in their address. */
const isPullRequest = (issue: Entry): boolean =>
  Object.keys(record(issue.pull_request)).length > 0 ||
  issue.isPullRequest === true ||
  /\/pull\/\d+$/.test(clean(issue.url))

function cardOf(issue: Entry, warnings: Warnings): DraftCard {
  const sections = [clean(issue.body), facts(issue)]
  return {
    source: /^closed$/i.test(clean(issue.state)) || issue.closed === true ? closed : open,
    isArchived: false,
    createdAt: time(issue.createdAt),
    updatedAt: time(issue.updatedAt),
    doneAt: time(issue.closedAt),
    creatorName: nameOf(record(issue.author).login) || undefined,
    ...fit(
      {
        title: issue.title,
        sections,
        labels: list(issue.labels).map(label => (typeof label === 'string' ? label : record(label).name)),
        assignees: list(issue.assignees).map(person => record(person).login),
        comments: comments(issue, warnings),
      },
      warnings,
    ),
  }
}

function facts(issue: Entry): string {
  const [url, milestone, reason] = [
    clean(issue.url),
    clean(record(issue.milestone).title),
    clean(issue.stateReason).toLowerCase().replaceAll('_', ' '),
  ]
  return [
    url
      ? `GitHub ${isPullRequest(issue) ? 'pull request' : 'issue'}: ${url}`
      : typeof issue.number === 'number'
        ? `GitHub issue #${issue.number}`
        : '',
    milestone && `Milestone: ${milestone}`,
    reason && reason !== 'reopened' && `Closed as: ${reason}`,
  ]
    .filter(Boolean)
    .join('\n')
}

function comments(issue: Entry, warnings: Warnings): Text['comments'] {
  return list(issue.comments)
    .map(record)
    .map(({ author, body, createdAt, reactionGroups }) => {
      warnings.count('Comments whose reactions have no place here', isEmpty(reactionGroups) ? 0 : 1)
      return { authorName: record(author).login, body, createdAt }
    })
}

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value as object).length === 0)
