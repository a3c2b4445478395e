import { startWebProject, type WebProject } from '../support/servers/webProject.ts'
import { boardIn, type TerminalOptions, type TestTerminal } from '../support/terminals/terminal.ts'

/** A server with the project `web` and its columns Backlog, In Progress and Done, and terminals that show it. */
export interface World extends WebProject {
  columns: { backlog: string; active: string; done: string }
  /** Adds a card whose agent waits, and returns its id. */
  card(title: string, more?: { columnId?: string; labels?: string[]; prompt?: string }): Promise<string>
  /** The titles of a column's cards on the server. */
  titles(columnId: string): Promise<string[]>
  /** Opens `board ui` and waits until it is live. `close` ends it if it still runs. */
  open(options?: TerminalOptions & { args?: readonly string[] }): Promise<TestTerminal>
}

export async function startWorld(): Promise<World> {
  const { server, cli, projectId, close } = await startWebProject()
  const [backlog, active, done] = (await server.client.columns.list({ projectId })).map(({ id }) => id) as [
    string,
    string,
    string,
  ]
  const terminals: TestTerminal[] = []
  return {
    server,
    cli,
    projectId,
    columns: { backlog, active, done },
    card: async (title, more = {}) =>
      (await server.client.cards.create({ projectId, title, deferred: true, columnId: backlog, ...more })).id,
    titles: async columnId =>
      (await server.client.cards.list({ projectId, columnId, offset: 0 })).map(({ title }) => title),
    open: async ({ args = [], ...options } = {}) => {
      const terminal = boardIn(['ui', ...args], {
        ...options,
        cwd: cli.home,
        env: { ...cli.env, TERM: 'xterm-256color', ...options.env },
      })
      terminals.push(terminal)
      await terminal.shows('live', 20_000)
      return terminal
    },
    close: async () => {
      for (const terminal of terminals) terminal.close()
      await close()
    },
  }
}
