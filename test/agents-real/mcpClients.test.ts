import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { permissionsOf } from '../../src/contract/accounts/oauth.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import {
  codexExec,
  documentedFor,
  installedPrograms,
  makeHome,
  type Home,
  type McpProgram,
} from '../support/agents/mcpClients.ts'
import { startModelServer, type ModelServer } from './models/modelServer.ts'
import type { ToolCall, Turn } from './models/script.ts'
import { refusedTools } from './models/offeredTools.ts'

const password = 'a long password'
const email = 'ada@example.org'
const installed = installedPrograms()

let board: AgentBoard
let model: ModelServer
let ada: string
let root: string
let homes = 0

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'board-clients-'))
  model = await startModelServer()
  board = await startAgentBoard({ writer: { fixture: 'well-behaved' } })
  ada = (await board.as().auth.setup({ email, password })).token
  await board.as(ada).cards.create({ projectId: board.projectId, title: 'The roof leaks', prompt: 'Over the stairs.' })
})
afterAll(async () => {
  await board.close()
  await model.close()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

const newHome = (): Home => makeHome(join(root, `home-${homes++}`), model.url)
const newKey = async (name: string): Promise<string> =>
  (await board.as(ada).keys.create({ name, scope: 'server', permissions: permissionsOf('run') })).key

/** The command line that makes a program work without a user, and the names under which its model calls the board's tools. */
interface Client {
  call: (tool: string, input: ToolCall['input']) => ToolCall
  /** The project that calls must name; without it, they use the one of the folder. */
  projectId?: string
  /** The calls of its model before the tools are offered to it. */
  first?: ToolCall[]
  ask: string
}

/** The last id in the model's conversation in an object that contains `beside`. */
const idBeside = (beside: string, told: string): string => {
  const found = [...told.matchAll(new RegExp(`"id":"(\\d+)"[^{}]*${beside}`, 'g'))].at(-1)?.[1]
  if (!found) throw new Error(`The model received no ${beside}:\n${told.slice(-2000)}`)
  return found
}

/** The turns of a model that finds a card, creates another for it, starts the board's agent on it, reads the work and completes the card. */
function plan({ call, projectId, first = [] }: Client, title: string): Turn[] {
  const inProject = (fields: object = {}) => ({ ...(projectId && { projectId }), ...fields })
  const leak = (told: string) => inProject({ cardId: idBeside('"title":"The roof leaks"', told) })
  const made = (told: string) => inProject({ cardId: idBeside(`"title":"${title}"`, told) })
  const active = (told: string) => idBeside('"columnType":"active"', told)
  return [
    ...first.map(each => ({ calls: [each] })),
    { calls: [call('search', { q: 'roof' })] },
    { calls: [call('get_card', leak)] },
    { calls: [call('list_columns', inProject())] },
    { calls: [call('create_card', inProject({ title, prompt: 'Write hello.', agent: 'writer', deferred: true }))] },
    { calls: [call('move_card', told => ({ ...made(told), columnId: active(told) }))] },
    { calls: [call('wait_for_card', made)] },
    { calls: [call('read_diff', made)] },
    { calls: [call('complete_card', made)] },
    { text: 'The roof is fixed.' },
  ]
}

/** Makes the program do the plan, and checks the board. */
async function work(home: Home, client: Client, title: string, options?: Parameters<Home['run']>[1]) {
  const from = model.asked.length
  model.play(...plan(client, title))
  expect(await home.ok(client.ask, options)).toContain('The roof is fixed.')
  const asked = model.asked.slice(from).filter(({ offersTools }) => offersTools)
  expect(asked.flatMap(({ body }) => refusedTools(body))).toEqual([])
  const told = JSON.stringify(asked.at(-1)!.body).replaceAll('\\', '')
  expect(told).toMatch(/"outcome":"ended".*"summary":"I wrote hello\.txt as asked\."/)
  expect(told).toContain('+hello from turn 1')
  const items = await board.as(ada).cards.list({ projectId: board.projectId, search: title })
  expect(items).toMatchObject([{ title, columnId: board.columns.done, status: 'completed', deferred: false }])
  const ref = { projectId: board.projectId, cardId: items[0]!.id }
  expect(await board.as(ada).agents.sessions(ref)).toMatchObject([{ agent: 'writer', status: 'completed' }])
  const { items: activity } = await board.as(ada).activity.list(ref)
  return { ref, done: activity.map(({ actor, action }) => `${actor.kind} ${actor.name}: ${action}`).reverse() }
}

/** The entries of a card's activity in which an actor takes it from creation to completion. */
const lifeBy = (actor: string): string[] => [
  `${actor}: card.created`,
  `${actor}: card.moved`,
  `${actor}: run.started`,
  expect.stringMatching(/^agent writer: run\.ended$/),
  `${actor}: card.moved`,
  `${actor}: card.completed`,
]
const underscored: Client['call'] = (tool, input) => ({ name: `mcp__board__${tool}`, input })
const dotted: Client['call'] = (tool, input) => ({ name: `mcp__board.${tool}`, input })

describe('finds, creates, starts and completes a card', () => {
  test.skipIf(!installed.includes('claude'))(
    'Claude Code, by board mcp and the sign-in of the command line',
    async () => {
      const home = newHome()
      const here = { cwd: board.path }
      await home.ok(`board auth login --url ${board.url} --email ${email} --password-stdin`, {
        input: `${password}\n`,
      })
      const [, line] = documentedFor('Connect', 'Claude Code', board.url)
      await home.ok(line!, here)
      const ask = `${documentedFor('Without questions', 'Claude Code', board.url)[0]} 'Fix the roof.'`
      const { done } = await work(home, { call: underscored, ask }, 'Roof, by Claude', here)
      expect(done).toEqual(lifeBy('user ada'))
    },
  )

  test.skipIf(!installed.includes('codex'))('Codex, over HTTP with a key', async () => {
    const home = newHome()
    const env = { BOARD_TOKEN: await newKey('of codex') }
    await home.ok(documentedFor('With a key', 'Codex', board.url)[0]!, { env })
    const allow = documentedFor('Without questions', 'Codex', board.url).at(-1)!
    const ask = codexExec(model.url, 'Fix the roof.', allow)
    const { done } = await work(home, { call: dotted, projectId: board.projectId, ask }, 'Roof, by Codex', { env })
    expect(done).toEqual(lifeBy('key of codex'))
  })

  test.skipIf(!installed.includes('qwen'))('Qwen Code, over HTTP with a key', async () => {
    const home = newHome()
    const env = { BOARD_TOKEN: await newKey('of qwen') }
    await home.ok(`${documentedFor('With a key', 'Qwen Code', board.url)[0]} --trust`, { env })
    const client: Client = {
      call: underscored,
      projectId: board.projectId,
      first: [{ name: 'tool_search', input: { query: 'card' } }],
      ask: "qwen -p 'Fix the roof.' --auth-type openai",
    }
    const { done } = await work(home, client, 'Roof, by Qwen', { env })
    expect(done).toEqual(lifeBy('key of qwen'))
  })
})

/** The list of boards in each program: for a board with only an address, and for one with a key. */
const lists: Array<[title: string, program: McpProgram, alone: RegExp, withKey: RegExp]> = [
  ['Claude Code', 'claude', /board: .* Needs authentication/, /board: .* Connected/],
  ['Gemini CLI', 'gemini', /board: .* Disconnected/, /board: .* Connected/],
  ['Qwen Code', 'qwen', /board: .* Disconnected/, /board: .* Connected/],
  ['Copilot CLI', 'copilot', /board \(http\)/, /board \(http\)/],
  ['opencode', 'opencode', /board .*needs authentication/, /board .*connected/],
]

describe('works as docs/mcp.md describes, and lists the board', () => {
  for (const [title, program, alone, withKey] of lists)
    test.skipIf(!installed.includes(program))(`${title}`, async () => {
      const env = { BOARD_TOKEN: await newKey('to list') }
      for (const [heading, expected] of [
        ['Connect', alone],
        ['With a key', withKey],
      ] as const) {
        const home = newHome()
        trustFolder(home)
        const code = documentedFor(heading, title, board.url)
        if (program === 'opencode') writeFileSync(join(home.work, 'opencode.json'), code.at(-1)!)
        else await home.ok(code[0]!, { env })
        expect(await home.ok(`${program} mcp list`, { env })).toMatch(expected)
      }
    })

  test.skipIf(!installed.includes('codex'))('Codex', async () => {
    const [home, keyed] = [newHome(), newHome()]
    await home.ok(documentedFor('Connect', 'Codex', board.url)[1]!)
    expect(await home.ok('codex mcp list')).toMatch(/board +board +mcp .*enabled/)
    await keyed.ok(documentedFor('With a key', 'Codex', board.url)[0]!)
    expect(await keyed.ok('codex mcp list')).toMatch(/board .*enabled +Bearer token/)
  })
})

/** Trusts the folder, because Gemini CLI starts no tools in an untrusted folder. */
function trustFolder(home: Home): void {
  mkdirSync(join(home.folder, '.gemini'))
  writeFileSync(join(home.folder, '.gemini/trustedFolders.json'), JSON.stringify({ [home.work]: 'TRUST_FOLDER' }))
}
