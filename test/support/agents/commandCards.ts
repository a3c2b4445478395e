import { afterAll, beforeAll } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard, type Card } from './agentBoard.ts'

export interface CommandProject {
  projectId: string
  columnId: string
}
export interface CommandCard {
  id: string
  status: Card['status']
  /** The transcript, as JSON. */
  said: string
}

export type CommandCards = ReturnType<typeof createCommandCards>

/** Creates projects with separate repositories, and cards that run a shell command in them. */
export function createCommandCards({ client, folder }: AgentBoard) {
  let count = 0
  const place = ({ projectId }: CommandProject, { id }: Pick<CommandCard, 'id'>) => ({ projectId, cardId: id })
  const untilEnd = async (project: CommandProject, card: Pick<CommandCard, 'id'>): Promise<Card> => {
    for (const end = Date.now() + 60_000; ;) {
      const now = await client.cards.get(place(project, card))
      if (['completed', 'failed'].includes(now.status)) return now
      if (Date.now() > end) throw new Error('The card does not end.')
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  return {
    /**
     * @param prepare changes the repository, and returns the project's path if it differs
     */
    async project(prepare: (path: string) => string | void = () => {}): Promise<CommandProject & { path: string }> {
      const name = `commands-${++count}`
      const repository = makeRepository(folder(name))
      const path = prepare(repository) ?? repository
      const { id: projectId } = await client.projects.create({ name, path })
      const columns = await client.columns.list({ projectId })
      return { projectId, columnId: columns[1]!.id, path }
    },
    async run(
      { projectId, columnId }: CommandProject,
      command: string,
      input: { useWorktree?: boolean } = {},
    ): Promise<CommandCard> {
      const card = { projectId, columnId, title: 'Work', kind: 'terminal', command, ...input } as const
      const { id } = await client.cards.create(card)
      const { status } = await untilEnd({ projectId, columnId }, { id })
      const messages = await client.agents.messages({ projectId, cardId: id })
      return { id, status, said: JSON.stringify(messages) }
    },
    merge: (project: CommandProject, card: CommandCard) => client.agents.merge(place(project, card)),
    diff: async (project: CommandProject, card: CommandCard): Promise<string> =>
      (await client.agents.diff(place(project, card))).diff,
  }
}

/** A board for the tests of this block, and cards that run a shell command on it. */
export function useCommandCards(sandbox: 'require' | 'off'): { board: AgentBoard; cards: CommandCards } {
  const used = {} as { board: AgentBoard; cards: CommandCards }
  beforeAll(async () => {
    used.board = await startAgentBoard({}, { sandbox })
    used.cards = createCommandCards(used.board)
  })
  afterAll(() => used.board.close())
  return used
}
