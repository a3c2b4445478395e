import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '../../../src/client/index.ts'
import type { ServerConfig } from '../../../src/config/server.ts'
import { startBoard, type TestBoard } from '../servers/testBoard.ts'
import { FakeForge, type ForgeKind } from './fakeForge.ts'

export type Card = Awaited<ReturnType<Client['cards']['get']>>

/** A board with a project that is connected to the issues with the label `board` on a forge of this machine. */
export interface IssueBoard extends TestBoard {
  forge: FakeForge
  projectId: string
  columns: Record<'backlog' | 'active' | 'done', string>
  /** Syncs the issues, like a user requests it. */
  sync(): ReturnType<Client['issues']['sync']>
  /** The cards of the project with all fields, oldest first. */
  cards(): Promise<Card[]>
  /** The card of an issue. */
  cardOf(number: number): Promise<Card>
  move(card: { id: string }, to: 'backlog' | 'active' | 'done'): Promise<unknown>
  /** The comments of a card, oldest first. */
  said(card: { id: string }): Promise<string[]>
  /** The comments of an issue, oldest first. */
  saidThere(number: number): string[]
  /** Requests that changed records on the forge. */
  writes(): string[]
}

export interface IssueBoardOptions {
  kind?: ForgeKind
  comments?: boolean
  config?: Partial<ServerConfig>
}

export async function startIssueBoard(options: IssueBoardOptions = {}): Promise<IssueBoard> {
  const folder = mkdtempSync(join(tmpdir(), 'board-issues-'))
  const forge = await FakeForge.start({ kind: options.kind ?? 'github', folder })
  const board = await startBoard(options.config)
  const { client } = board
  const projectId = await tieProject(board, forge, { path: join(folder, 'work'), ...options })
  const all = await client.columns.list({ projectId })
  const columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as IssueBoard['columns']
  const cards = async () => {
    const found = await client.cards.list({ projectId })
    return Promise.all(found.map(({ id }) => client.cards.get({ projectId, cardId: id })))
  }
  return {
    ...board,
    forge,
    projectId,
    columns,
    sync: () => client.issues.sync({ projectId }),
    cards,
    cardOf: async number => (await cards()).find(({ issue }) => issue?.number === number)!,
    move: ({ id }, to) => client.cards.move({ projectId, cardId: id, columnId: columns[to] }),
    said: async ({ id }) =>
      (await client.comments.list({ projectId, cardId: id, limit: 100 })).items
        .reverse()
        .map(({ author, body }) => `${author.displayName}: ${body}`),
    saidThere: number =>
      forge.state.comments
        .filter(each => each.number === number)
        .map(({ author, body }) => `${author}: ${body.replace(/\s*<!-- board:comment:[0-9a-f]{32} -->$/, '')}`),
    writes: () =>
      forge.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`),
    close: async () => {
      await board.close()
      await forge.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Creates a project in a clone of the forge's repository, with its label and the token of the forge's account.
 * @param command runs instead of the board's own adapter of the forge
 */
export async function tieProject(
  { client }: Pick<TestBoard, 'client'>,
  forge: FakeForge,
  { path, comments = false, command }: { path: string; comments?: boolean; command?: string },
): Promise<string> {
  execFileSync('git', ['clone', '-q', forge.repository.path, path])
  execFileSync('git', ['remote', 'set-url', 'origin', forge.cloneUrl], { cwd: path })
  const { id } = await client.projects.create({ name: 'site', path })
  const credential = await client.credentials.create({
    name: 'forge',
    provider: forge.options.kind,
    apiKey: forge.token,
    baseUrl: forge.url,
  })
  await client.projects.update({
    id,
    forge: {
      ...(command === undefined ? { kind: forge.options.kind } : { kind: 'command', command }),
      credentialId: credential.id,
      issueLabel: 'board',
      issueComments: comments,
    },
  })
  return id
}
