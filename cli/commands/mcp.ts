import { InvalidArgumentError, Option, type Command } from 'commander'
import { toolGroups } from '../../src/contract/agents/tool.ts'
import { openContext } from '../context/context.ts'
import { example } from '../help/help.ts'
import { createForwarder } from '../agents/mcpForwarder.ts'
import { stdout, write } from '../output/streams.ts'

const maxMessageLength = 4 * 1024 * 1024

export function register(command: Command): void {
  command.addHelpText(
    'after',
    '\nCursor and most other programs start it with this setting, in .cursor/mcp.json:\n  {"mcpServers": {"board": {"command": "board", "args": ["mcp"]}}}',
  )
  example(
    command
      .description(
        'Serve the board as tools of the Model Context Protocol over stdin and stdout, for programs that start this command. Other programs connect to /api/mcp of the server over HTTP. Calls use the current project unless they name another one.',
      )
      .addOption(
        new Option('--tools <groups>', `offer only the tools of these groups: ${toolGroups.join(', ')}`).argParser(
          groupsIn,
        ),
      )
      .option('--read-only', 'offer only read-only tools and prompts'),
    'claude mcp add board -- board mcp',
    'board mcp',
    'board mcp -P web --read-only',
    'board mcp --tools find,run',
  ).action((options: Options) => serveTools(command, options))
}

interface Options {
  readOnly?: boolean
  tools?: string
}

/** Writes only protocol messages to stdout, one per line, in the order of the requests. */
async function serveTools(command: Command, { readOnly = false, tools }: Options): Promise<void> {
  const context = await openContext(command)
  const isAgent = context.connection.token?.startsWith('svc_at_') === true
  const projectId = isAgent
    ? undefined
    : await context.project().then(
        ({ id }) => id,
        (error: unknown) => {
          if (context.selection.project) throw error
          return undefined
        },
      )
  const relay = createForwarder(context.connection, { projectId, groups: tools, readOnly })
  stdout().on('error', () => process.stdin.destroy())
  for await (const line of readLines(process.stdin)) {
    const { answer, trouble } = await relay(line)
    if (answer !== undefined) write(`${answer}\n`)
    if (trouble !== undefined) context.out.warn(trouble)
  }
}

/** Yields the lines that are not blank. Cuts off a line that is too long, so that it is invalid JSON. */
async function* readLines(input: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()!.slice(0, maxMessageLength)
    for (const part of parts) if (part.trim() !== '') yield part
  }
  if (rest.trim() !== '') yield rest
}

function groupsIn(text: string): string {
  const other = text.split(',').find(name => !(toolGroups as readonly string[]).includes(name))
  if (other !== undefined)
    throw new InvalidArgumentError(`must be one or several of ${toolGroups.join(', ')}, with commas between them.`)
  return text
}
