import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCard } from '../support/agents/agentRows.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let cli: CommandLine
let projectId: string
let agentToken: string
const clients: Client[] = []

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  ;({ projectId } = await newCard(server, 'First'))
  const active = (await server.client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
  const { id: cardId } = await server.client.cards.create({
    projectId,
    title: 'Mine',
    columnId: active.id,
    deferred: true,
  })
  agentToken = (await server.client.agents.token({ projectId, cardId })).token
})
afterAll(async () => {
  for (const client of clients) await client.close()
  cli.close()
  await server.close()
})

async function connect(args: string[], env: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [resolve(import.meta.dirname, '../../bin/board.js'), 'mcp', ...args],
      env: { ...cli.env, ...env },
      cwd: cli.home,
      stderr: 'ignore',
    }),
  )
  clients.push(client)
  return client
}
const use = async (client: Client, name: string, input: Record<string, unknown> = {}) => {
  const { isError, content } = (await client.callTool({ name, arguments: input })) as {
    isError?: boolean
    content: Array<{ text: string }>
  }
  const value = JSON.parse(content[0]!.text)
  return isError ? value.error.code : value
}

test("a user's program works in the current project and can name another", async () => {
  const client = await connect(['-P', 'First'])
  const { tools } = await client.listTools()
  expect(tools.map(({ inputSchema }) => inputSchema.required ?? []).flat()).not.toContain('projectId')
  expect((await use(client, 'list_cards')).items.map(({ title }: { title: string }) => title)).toEqual([
    'First',
    'Mine',
  ])
  expect((await use(client, 'list_projects')).items).toHaveLength(1)
  const other = await newCard(server, 'Second')
  expect(
    (await use(client, 'list_cards', { projectId: other.projectId })).items.map(
      ({ title }: { title: string }) => title,
    ),
  ).toEqual(['Second'])
  expect((await use(client, 'create_card', { title: 'Made over stdio' })).columnName).toBe('Backlog')
})

test('without a current project each call must name one', async () => {
  const client = await connect([])
  const { tools } = await client.listTools()
  expect(tools.find(({ name }) => name === 'list_cards')!.inputSchema.required).toEqual(['projectId'])
  expect(await use(client, 'list_cards')).toBe('VALIDATION_FAILED')
  expect((await use(client, 'list_cards', { projectId })).items.length).toBeGreaterThan(1)
})

test('with --read-only no tool can change the board', async () => {
  const client = await connect(['--read-only', '-P', projectId])
  const { tools } = await client.listTools()
  expect(tools.filter(({ annotations }) => !annotations!.readOnlyHint)).toEqual([])
  expect(tools.map(({ name }) => name)).toContain('read_transcript')
  expect((await use(client, 'list_cards')).items.length).toBeGreaterThan(1)
  await expect(client.callTool({ name: 'create_card', arguments: { title: 'No' } })).rejects.toThrow(
    /no tool create_card/,
  )
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['what_waits'])
  const goal = { projectId, goal: 'A roof' }
  await expect(client.getPrompt({ name: 'plan_work', arguments: goal })).rejects.toThrow(/Unknown prompt: plan_work/)
  const agent = await connect(['--read-only'], { BOARD_TOKEN: agentToken })
  expect((await agent.listTools()).tools.map(({ name }) => name)).not.toContain('create_card')
})

test('with --tools only those groups are offered, and a key works with its permissions', async () => {
  const { key } = await server.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
  const client = await connect(['--tools', 'change,find', '-P', projectId], { BOARD_TOKEN: key })
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list_cards')
  expect((await use(client, 'list_cards')).items.length).toBeGreaterThan(1)
  const run = await connect(['--tools', 'run'])
  expect((await run.listTools()).tools.map(({ name }) => name)).not.toContain('list_cards')
  expect((await cli.board(['mcp', '--tools', 'nonsense'])).code).toBe(2)
})

test('an agent works on its card', async () => {
  const client = await connect([], { BOARD_TOKEN: agentToken })
  expect((await use(client, 'get_card')).title).toBe('Mine')
})

test('stdout holds only the protocol, with one response per request, for any input', async () => {
  const input = [
    'rubbish',
    '[]',
    '',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","id":"x","method":"nonsense"}',
  ].join('\n')
  const { code, stdout } = await cli.board(['mcp'], { input })
  expect(code).toBe(0)
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32_700],
    [null, -32_700],
    [1, undefined],
    [2, -32_000],
    ['x', -32_601],
  ])
})

test('a rejected token and an offline server are reported in the responses', async () => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
  const refused = await cli.board(['mcp'], { input: ping, env: { BOARD_TOKEN: 'svc_st_nonsense', BOARD_PROJECT: '' } })
  expect(JSON.parse(refused.stdout).error).toEqual({ code: -32_000, message: expect.stringContaining('not valid') })
  const away = await cli.board(['mcp'], { input: ping, env: { BOARD_URL: 'http://127.0.0.1:1' } })
  expect(JSON.parse(away.stdout).error).toEqual({ code: -32_000, message: expect.stringContaining('No answer') })
})
