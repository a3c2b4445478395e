import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Draft } from '../../src/transfers/formats/draft.ts'
import { readGithub } from '../../src/transfers/formats/github.ts'
import { readObjects } from '../../src/transfers/jsonFile.ts'
import type { Doc } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-github-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function read(content: string | Doc, withPullRequests = true): Promise<Draft> {
  const path = join(folder, 'issues.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return readGithub(readObjects(path), withPullRequests)
}
const titles = async (content: string | Doc) => (await read(content)).cards.map(({ title }) => title)
const fixture = (name: string) => readFileSync(join(import.meta.dirname, '..', 'fixtures', 'imports', name), 'utf8')

const issue = (number: number, more: Doc = {}): Doc => ({
  number,
  title: `Issue ${number}`,
  url: `https://github.com/acme/web/issues/${number}`,
  ...more,
})
const text = (...numbers: number[]) => numbers.map(number => JSON.stringify(issue(number)))

describe('states', () => {
  const closedAt = '2025-01-02T03:04:05Z'
  it.each<[Doc, string, string?]>([
    [{ state: 'MERGED', closedAt }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ state: 'MERGED', mergedAt: closedAt }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ state: 'merged' }, 'closed'],
    [{ state: 'closed', merged_at: closedAt, closed_at: closedAt }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ state: 'closed', pull_request: { merged_at: closedAt } }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ merged: true }, 'closed'],
    [{ closed: true, closedAt }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ state: 'closed', closed_at: closedAt }, 'closed', '2025-01-02T03:04:05.000Z'],
    [{ state: 'CLOSED' }, 'closed'],
    [{ state: 'OPEN', merged_at: null, closed_at: null }, 'open'],
    [{ state: 'open', closed: false }, 'open'],
    [{}, 'open'],
  ])('%j', async (fields, key, doneAt) => {
    const [card] = (await read([issue(1, fields)])).cards
    expect([card!.column.key, card!.doneAt]).toEqual([key, doneAt])
  })
})

describe('files', () => {
  it.each<[string, string]>([
    ['one list', `[${text(1, 2, 3)}]`],
    ['consecutive pages', `[${text(1, 2)}][${text(3)}]`],
    ['pages on separate lines', `[${text(1, 2)}]\n[${text(3)}]\n[]\n`],
    ['pages in a list (gh api --slurp)', `[[${text(1, 2)}],[${text(3)}]]`],
    ['lines', `${text(1, 2, 3).join('\n')}\n`],
    ['lines with CRLF and empty ones', `\r\n${text(1, 2, 3).join('\r\n\r\n')}\r\n`],
    ['objects without separators', text(1, 2, 3).join('')],
    ['objects over several lines (jq)', [1, 2, 3].map(number => JSON.stringify(issue(number), null, 2)).join('\n')],
    [
      'a JSON text sequence',
      text(1, 2, 3)
        .map(each => `\u001e${each}\n`)
        .join(''),
    ],
    ['a byte order mark', `\ufeff[${text(1, 2, 3)}]`],
    [
      'one issue per list',
      text(1, 2, 3)
        .map(each => `[${each}]`)
        .join(' '),
    ],
    ['GraphQL', `{"data":{"repository":{"issues":{"nodes":[${text(1, 2, 3)}]}}}}`],
    [
      'GraphQL with edges',
      `{"data":{"repository":{"issues":{"edges":[${text(1, 2, 3).map(each => `{"cursor":"a","node":${each}}`)}]}}}}`,
    ],
    [
      'pages of GraphQL',
      [[1, 2], [3]]
        .map(
          page =>
            `{"data":{"repository":{"name":"web","issues":{"nodes":[${text(...page)}],"pageInfo":{"hasNextPage":true}}}}}`,
        )
        .join(''),
    ],
    [
      'GraphQL with an alias',
      `{"data":{"web":{"id":"R_1","open":{"nodes":[${text(1, 2)}]},"done":{"nodes":[${text(3)}]}}}}`,
    ],
    ['GraphQL without its envelope', `{"nodes":[${text(1, 2, 3)}]}`],
    ['a search', `{"total_count":3,"incomplete_results":false,"items":[${text(1, 2, 3)}]}`],
    [
      'a project of GraphQL',
      `{"data":{"organization":{"projectV2":{"title":"Plan","items":{"nodes":[${text(1, 2, 3).map(each => `{"id":"I","fieldValues":{"nodes":[{"title":"Sprint"}]},"content":${each}}`)}]}}}}}`,
    ],
    [
      'a project of gh',
      `{"items":[${[1, 2, 3].map(number => JSON.stringify({ title: `Issue ${number}`, status: 'Todo', labels: ['a'], content: issue(number) }))}],"totalCount":3}`,
    ],
    [
      'a repository with milestones',
      `{"data":{"repository":{"milestones":{"nodes":[{"title":"M","number":9}]},"issues":{"nodes":[${text(1, 2, 3)}]}}}}`,
    ],
    ['one issue (gh issue view)', text(1)[0]!],
  ])('%s', async (_, content) => {
    expect(await titles(content)).toEqual(content === text(1)[0] ? ['Issue 1'] : ['Issue 1', 'Issue 2', 'Issue 3'])
  })

  it.each<[string, string]>([
    ['', 'the file must be JSON: it is empty'],
    ['{}', 'the file must be a list of issues, as gh issue list --json prints it'],
    ['[{"number":1}]', '0.title is required. Add title to the fields of gh issue list --json'],
    [`[${text(1)},{"number":2}]`, '1.title is required. Add title to the fields of gh issue list --json'],
    ['{"message":"Bad credentials","documentation_url":"x"}', '0 contains an error from GitHub: Bad credentials'],
    ['{"data":null,"errors":[{"message":"Could not resolve"}]}', '0 contains an error from GitHub: Could not resolve'],
    ['[3]', '0 contains an unexpected 3 (byte 1)'],
    ['"text"', '0 contains an unexpected " (byte 0)'],
    [`[${text(1)}`, `1 ends in the middle`],
    [`${text(1)}]`, `1 contains an unexpected ]`],
    [`${text(1)}{"title":`, '1 ends in the middle'],
    [`[${text(1)}] and more`, '1 contains an unexpected a'],
    ['number,title\n1,A', '0 contains an unexpected n (byte 0)'],
  ])('%j is rejected', async (content, message) => {
    await expect(read(content)).rejects.toThrow(`Nothing was imported: ${message}`)
  })

  it.each(['[]', '{"data":{"repository":{"issues":{"nodes":[]}}}}', '[][]', '{"total_count":0,"items":[]}'])(
    '%s has no issues',
    async content => expect(await titles(content)).toEqual([]),
  )
})

describe('fields', () => {
  const whole = {
    title: 'Paint the door',
    labels: ['wood', 'red'],
    assignees: ['lee', 'kim'],
    creatorName: 'kim',
    createdAt: '2024-01-01T00:00:00.000Z',
    updatedAt: '2024-01-03T00:00:00.000Z',
    doneAt: '2024-01-02T00:00:00.000Z',
    prompt: 'b\n\nGitHub issue: https://github.com/acme/web/issues/3\nMilestone: v1\nClosed as: completed',
    comments: [
      { authorName: 'lee', body: 'On it', createdAt: '2024-01-02T00:00:00.000Z' },
      { authorName: 'ghost', body: 'Done', createdAt: '2024-01-03T00:00:00.000Z' },
    ],
  }
  const [created, updated, closed] = ['2024-01-01T00:00:00Z', '2024-01-03T00:00:00Z', '2024-01-02T00:00:00Z']
  const api = 'https://api.github.com/repos/acme/web/issues/3'
  const rest = {
    url: api,
    html_url: 'https://github.com/acme/web/issues/3',
    repository_url: 'https://api.github.com/repos/acme/web',
    labels_url: `${api}/labels{/name}`,
    id: 1,
    node_id: 'I',
    number: 3,
    title: 'Paint the door',
    body: 'b',
    locked: false,
    user: {
      login: 'kim',
      id: 1,
    },
    labels: [
      {
        id: 1,
        name: 'wood',
      },
      { name: 'red' },
    ],
    state: 'closed',
    state_reason: 'completed',
    assignee: { login: 'lee' },
    assignees: [{ login: 'lee' }, { login: 'kim' }],
    milestone: {
      title: 'v1',
      number: 1,
    },
    created_at: created,
    updated_at: updated,
    closed_at: closed,
    author_association: 'OWNER',
    type: null,
    pull_request: undefined,
    reactions: {
      url: `${api}/reactions`,
      total_count: 0,
      '+1': 0,
    },
  }
  const restComments = [
    { issue_url: api, user: { login: 'lee' }, body: 'On it', created_at: '2024-01-02T00:00:00Z' },
    { issue_url: api, user: null, body: 'Done', created_at: '2024-01-03T00:00:00Z' },
  ]
  const graph = {
    __typename: 'Issue',
    number: 3,
    title: 'Paint the door',
    body: 'b',
    state: 'CLOSED',
    stateReason: 'COMPLETED',
    url: 'https://github.com/acme/web/issues/3',
    author: { login: 'kim' },
    milestone: { title: 'v1' },
    createdAt: created,
    updatedAt: updated,
    closedAt: closed,
    labels: {
      totalCount: 2,
      nodes: [{ name: 'wood' }, { name: 'red' }],
    },
    assignees: { edges: [{ node: { login: 'lee' } }, { node: { login: 'kim' } }] },
    comments: {
      totalCount: 2,
      nodes: [
        {
          author: { login: 'lee' },
          body: 'On it',
          createdAt: '2024-01-02T00:00:00Z',
        },
        {
          author: null,
          body: 'Done',
          createdAt: '2024-01-03T00:00:00Z',
        },
      ],
    },
  }
  it.each<[string, Doc[]]>([
    ['REST with its comments in the issue', [{ ...rest, comments: restComments }]],
    ['REST with its comments after the issues', [{ ...rest, comments: 2 }, ...restComments]],
    ['REST with its comments before the issues', [...restComments, { ...rest, comments: 2 }]],
    ['REST without html_url', [{ ...rest, html_url: undefined, comments: restComments }]],
    ['GraphQL', [graph]],
    [
      'gh',
      [
        {
          ...graph,
          labels: graph.labels.nodes,
          assignees: [{ login: 'lee' }, { login: 'kim' }],
          comments: graph.comments.nodes,
        },
      ],
    ],
  ])('of %s become a card', async (_, issues) => {
    const { name, cards, warnings } = await read(issues)
    expect([name, cards, warnings]).toEqual(['acme/web', [expect.objectContaining(whole)], []])
  })

  it('that are not in the file are counted', async () => {
    const some = { totalCount: 5, nodes: [{ name: 'a', login: 'a', body: 'a' }] }
    const { warnings } = await read([
      issue(1, { labels: some, assignees: some, comments: some }),
      issue(2, { comments: 7 }),
      ...restComments,
    ])
    expect(warnings).toEqual([
      'Labels that are not in the file: 4.',
      'Assignees that are not in the file: 4.',
      'Comments that are not in the file: 11.',
      'Skipped comments on issues that are not in the file: 2.',
    ])
  })
})

describe('pull requests', () => {
  it.each<Doc>([
    { url: 'https://github.com/acme/web/pull/1' },
    { html_url: 'https://github.com/acme/web/pull/1', url: 'https://api.github.com/repos/acme/web/issues/1' },
    { url: 'https://api.github.com/repos/acme/web/pulls/1', head: { ref: 'a' } },
    { __typename: 'PullRequest', url: undefined },
    { state: 'MERGED', url: undefined },
    { headRefName: 'a', url: undefined },
    { pull_request: { url: 'x' }, url: undefined },
  ])('%j is omitted by default', async fields => {
    expect((await read([issue(1, fields)], false)).cards).toEqual([])
    expect((await read([issue(1, fields)], true)).cards).toHaveLength(1)
  })

  it.each<Doc>([{}, { pull_request: null }, { url: undefined }, { url: 'https://github.com/acme/pull/issues/1' }])(
    '%j is an issue',
    async fields => expect((await read([issue(1, fields)], false)).cards).toHaveLength(1),
  )
})

it('the case github-merged-prs.json has merged requests done', async () => {
  const { cards } = await read(fixture('github-merged-prs.json'))
  expect(cards.map(({ title, column, doneAt }) => [title, column.key, doneAt])).toEqual([
    ['Paint the door', 'closed', '2025-01-02T03:04:05.000Z'],
    ['Fix the roof', 'open', undefined],
    ['Sell the boat', 'closed', undefined],
  ])
})

it('the case github-graphql.json keeps label, assignee and comment', async () => {
  const { cards, warnings } = await read(fixture('github-graphql.json'))
  expect([cards, warnings]).toMatchObject([
    [{ labels: ['wood'], assignees: ['lee'], comments: [{ authorName: 'lee', body: 'On it' }] }],
    [],
  ])
})
