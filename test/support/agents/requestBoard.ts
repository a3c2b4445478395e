import { execFileSync } from 'node:child_process'
import { startAgentBoard, type AgentBoard, type Card, type FixtureAgent } from './agentBoard.ts'
import { FakeForge, type ForgeKind } from '../forge/fakeForge.ts'
import { eventually } from '../waiting/eventually.ts'
import type { ServerConfig } from '../../../src/config/server.ts'
import { readPullRequest, type PullRequestRow } from '../../../src/store/forges/pullRequests.ts'

/** A board whose project is reviewed on a fake forge, which is polled frequently. */
export interface RequestBoard extends AgentBoard {
  forge: FakeForge
  git(...args: string[]): string
  /** A card whose agent has worked, and whose branch is under review. */
  opened(agent?: string, input?: Partial<Parameters<AgentBoard['client']['pullRequests']['create']>[0]>): Promise<Card>
  pull(card: Card): Promise<PullRequestRow>
  untilPull(
    card: Card,
    what: string,
    fits: (pull: PullRequestRow) => boolean,
    timeoutMs?: number,
  ): Promise<PullRequestRow>
  /** The head of the request on the forge, once it differs from this one. */
  nextHead(card: Card, before: string): Promise<string>
  /** Waits until the forge was polled for the request this many more times. */
  looks(card: Card, count: number): Promise<void>
}

export async function startRequestBoard(
  agents: Record<string, FixtureAgent>,
  { kind = 'github', ...config }: Partial<ServerConfig> & { kind?: ForgeKind } = {},
): Promise<RequestBoard> {
  const board = await startAgentBoard(agents, { forgePolling: { minMs: 50, maxMs: 300 }, ...config })
  const forge = await FakeForge.start({ kind, folder: board.folder(`forge-${kind}`), from: board.path })
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', board.path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      encoding: 'utf8',
    }).trim()
  git('remote', 'add', 'origin', forge.cloneUrl)
  const credential = await board.client.credentials.create({
    name: 'Forge',
    provider: kind,
    apiKey: forge.token,
    baseUrl: forge.url,
  })
  await board.client.projects.update({
    id: board.projectId,
    forge: { kind, credentialId: credential.id, base: 'main' },
  })
  const { db } = board.server.app
  const pull = async ({ id }: Card) => (await readPullRequest(db, Number(id)))!
  return {
    ...board,
    forge,
    git,
    pull,
    opened: async (agent = 'requested', input = {}) => {
      const { id } = await board.start(agent, { title: 'Roof' })
      const card = await board.untilStatus(id, 'completed')
      await board.client.pullRequests.create({ projectId: board.projectId, cardId: id, ...input })
      return card
    },
    untilPull: (card, what, fits, timeoutMs = 20_000) =>
      eventually(
        `${what} of the request of card ${card.id}`,
        async () => {
          const found = await pull(card)
          return fits(found) ? found : undefined
        },
        timeoutMs,
      ),
    nextHead: (card, before) =>
      eventually(`a new head of the request of card ${card.id}`, async () => {
        const { number } = await pull(card)
        // As the last push left it: querying Git each time would block this process, and the board in it.
        const { headSha } = forge.state.pulls.find(each => each.number === number)!
        return headSha === before ? undefined : headSha
      }),
    looks: async (card, count) => {
      const path = `/pulls/${(await pull(card)).number}`
      const before = forge.requests.length
      await eventually(`${count} looks at the request of card ${card.id}`, () => {
        const asked = forge.requests.slice(before).filter(each => each.path.endsWith(path))
        return asked.length >= count || undefined
      })
    },
    close: async () => {
      await board.close()
      await forge.close()
    },
  }
}
