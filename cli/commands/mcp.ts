import type { Command } from 'commander'
import { openContext, requireUser } from '../context/context.ts'
import { example } from '../help/help.ts'
import { createForwarder } from '../agents/mcpForwarder.ts'
import { stdout, write } from '../output/streams.ts'

const maxMessageLength = 4 * 1024 * 1024

export function register(command: Command): void {
  example(
    command
      .description(
        'Give a program the board as tools of the Model Context Protocol, over stdin and stdout. The project is the current one, unless a call names another.',
      )
      .option('--read-only', 'offer only the tools that change nothing'),
    'board mcp',
    'board mcp -P web --read-only',
    'claude mcp add board -- board mcp',
  ).action((options: { readOnly?: boolean }) => serve(command, options))
}

/** stdout holds nothing but the protocol: one message a line, in the order in which they were asked for. */
async function serve(command: Command, { readOnly = false }: { readOnly?: boolean }): Promise<void> {
  const context = await openContext(command)
  requireUser(context, 'mcp')
  const isAgent = context.connection.token?.startsWith('svc_at_') === true
  const projectId = isAgent
    ? undefined
    : await context.project().then(
        ({ id }) => id,
        (error: unknown) => {
          if (context.discovery.project) throw error
          return undefined
        },
      )
  const relay = createForwarder(context.connection, { projectId, readOnly })
  stdout().on('error', () => process.stdin.destroy())
  for await (const line of lines(process.stdin)) {
    const { answer, trouble } = await relay(line)
    if (answer !== undefined) write(`${answer}\n`)
    if (trouble !== undefined) context.out.warn(trouble)
  }
}

/** Lines that are not blank. Of one that is too long only the beginning is given, which is no JSON. */
async function* lines(input: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()!.slice(0, maxMessageLength)
    for (const part of parts) if (part.trim() !== '') yield part
  }
  if (rest.trim() !== '') yield rest
}
