import { commandLine, type CommandLine } from '../commands/commandLine.ts'
import { startBoard, type TestBoard } from './testBoard.ts'

/** A server with the project `web`, and a command line that works in it. */
export interface WebProject {
  server: TestBoard
  cli: CommandLine
  projectId: string
  close(): Promise<void>
}

export async function startWebProject(config?: Parameters<typeof startBoard>[0]): Promise<WebProject> {
  const server = await startBoard(config)
  const cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
  const { id: projectId } = await server.client.projects.create({ name: 'web', path: server.folder('web') })
  const close = () => {
    cli.close()
    return server.close()
  }
  return { server, cli, projectId, close }
}
