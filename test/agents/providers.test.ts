import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCatalogue, type Catalogue } from '../../src/agents/providers/providerCatalogue.ts'
import { readAgents } from '../../src/agents/providers/configuredProviders.ts'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'board-providers-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

let folders = 0
const folder = () => {
  const path = join(root, String(++folders))
  mkdirSync(path)
  return path
}
const withConfig = (config: unknown) => {
  const dataDir = folder()
  writeFileSync(join(dataDir, 'config.json'), typeof config === 'string' ? config : JSON.stringify(config))
  return dataDir
}
/** A search path with these programs. */
const pathOf = (...programs: string[]) => {
  const path = folder()
  for (const program of programs) {
    writeFileSync(join(path, program), '#!/bin/sh\n')
    chmodSync(join(path, program), 0o755)
  }
  return path
}
const catalogue = (dataDir: string, ...programs: string[]): Catalogue =>
  createCatalogue(dataDir, { PATH: pathOf(...programs) })

describe('the list of agents', () => {
  test('has eight without any configuration, each with its protocol and its installation command', async () => {
    const agents = await readAgents(folder())
    expect(agents.map(({ id, command }) => `${id}: ${command.join(' ')}`)).toEqual([
      'claude: claude-agent-acp',
      'codex: codex-acp',
      'gemini: gemini --acp',
      'copilot: copilot --acp',
      'opencode: opencode acp',
      'qwen: qwen --acp',
      'goose: goose acp',
      'cursor: agent acp',
    ])
    expect(agents.every(({ protocol, install }) => protocol === 'acp' && install)).toBe(true)
  })

  test('includes those that config.json adds and changes', async () => {
    const agents = await readAgents(
      withConfig({
        other: true,
        agents: {
          aider: {
            name: 'Aider',
            protocol: 'command',
            command: ['aider', '--message', '{prompt}'],
            install: 'pipx install aider-chat',
            credentials: { openai: { key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_API_BASE', args: ['--yes'] } },
          },
          qwen: { env: { OPENAI_MODEL: 'small' }, pass: ['SSH_AUTH_SOCK'], modes: { work: ['yolo'] } },
        },
      }),
    )
    expect(agents.map(({ id }) => id)).toEqual([...builtIn.map(({ id }) => id), 'aider'])
    const aider = agents.at(-1)!
    expect(aider).toMatchObject({
      id: 'aider',
      name: 'Aider',
      protocol: 'command',
      command: ['aider', '--message', '{prompt}'],
      credentials: { openai: { args: ['--yes'] } },
    })
    expect(
      aider.credentials.openai!.env(
        {
          id: 1,
          provider: 'openai',
          kind: 'api_key',
          token: 'k',
          baseUrl: 'https://x.test',
          headers: {},
          models: [],
        },
        null,
      ),
    ).toEqual({ OPENAI_API_KEY: 'k', OPENAI_API_BASE: 'https://x.test/v1' })
    const qwen = agents.find(({ id }) => id === 'qwen')!
    expect(qwen).toMatchObject({
      name: 'Qwen Code',
      command: ['qwen', '--acp'],
      env: { OPENAI_MODEL: 'small' },
      pass: ['OPENAI_MODEL', 'SSH_AUTH_SOCK'],
      modes: { work: ['yolo'], plan: expect.arrayContaining(['plan']) },
    })
  })

  test.each([
    [
      '{"agents": {"x": {"command": ["sk-secret" "y"]}}}',
      /^config\.json in the data folder is not valid: it is not valid JSON/,
    ],
    [{ agents: { x: {} } }, /agents\.x\.command is missing/],
    [{ agents: { x: { command: [] } } }, /agents\.x\.command must contain a program/],
    [{ agents: { x: { command: ['y'], protocol: 'lsp' } } }, /agents\.x\.protocol must be acp or command/],
    [
      { agents: { x: { command: ['y'], env: { BOARD_TOKEN: 'z' } } } },
      /agents\.x\.env\.BOARD_TOKEN must not begin with BOARD_/,
    ],
    [{ agents: { x: { command: ['y'], comand: ['y'] } } }, /agents\.x\.comand is not known/],
    [{ agents: { '../x': { command: ['y'] } } }, /must be the ID of an agent/],
    [{ agents: { x: { command: ['y'], credentials: { nobody: { key: 'K' } } } } }, /must be anthropic, openai/],
    ['[]', /it must be Object/],
    [{ agents: { x: { command: 'sk-secret' } } }, /agents\.x\.command must be Array/],
    [{ agents: { x: { command: ['y'], env: { A: ['sk-secret'] } } } }, /agents\.x\.env\.A must be string/],
  ])('cannot be read from a broken file, and the error omits its content: %j', async (config, message) => {
    const error = await readAgents(withConfig(config)).then(
      () => undefined,
      (reason: Error) => reason,
    )
    expect(error?.message).toMatch(message)
    expect(error?.message).not.toContain('sk-secret')
    expect(error?.message).not.toContain(root)
  })
})

describe('an agent is installed', () => {
  test('if its program is on the search path, and not if it is in the current folder', async () => {
    const path = pathOf('codex-acp', 'gemini', 'goose')
    chmodSync(join(path, 'gemini'), 0o644)
    rmSync(join(path, 'goose'))
    mkdirSync(join(path, 'goose'))
    const list = await createCatalogue(
      withConfig({ agents: { own: { command: [join(path, 'codex-acp')] }, here: { command: ['./codex-acp'] } } }),
      { PATH: `:.:${path}:relative/bin` },
    ).list()
    expect(list.filter(({ installed }) => installed).map(({ provider }) => provider.id)).toEqual(['codex', 'own'])
    expect((await createCatalogue(folder(), {}).list()).some(({ installed }) => installed)).toBe(false)
  })
})

describe('the agent for a card', () => {
  const chosen = async (agents: Catalogue, wish: Parameters<Catalogue['choose']>[0]) => {
    const { provider, missing } = await agents.choose(wish)
    return provider?.id ?? missing
  }

  test('is the configured one, otherwise the first installed one that accepts the credential', async () => {
    const agents = catalogue(folder(), 'codex-acp', 'gemini', 'qwen', 'claude-agent-acp')
    expect(await chosen(agents, { agent: 'gemini', credential: 'google' })).toBe('gemini')
    expect(await chosen(agents, { agent: null, credential: 'google' })).toBe('gemini')
    expect(await chosen(agents, { agent: null, credential: 'custom' })).toBe('codex')
    expect(await chosen(agents, { agent: null, credential: null })).toBe('claude')
  })

  test('is missing if it does not accept the credential, with those that do', async () => {
    const agents = catalogue(folder(), 'gemini', 'claude-agent-acp')
    expect(await chosen(agents, { agent: 'gemini', credential: 'anthropic' })).toMatch(
      /^Gemini CLI does not support credentials of anthropic\. These agents do: claude, /,
    )
    expect(await chosen(agents, { agent: null, credential: 'openai' })).toContain('Codex is not installed')
  })

  test("requires a profile's own program instead of the agent's", async () => {
    const agents = catalogue(folder(), 'gateway-claude')
    expect(await chosen(agents, { agent: 'claude', program: 'gateway-claude', credential: null })).toBe('claude')
    expect(await chosen(agents, { agent: 'claude', program: 'elsewhere', credential: null })).toBe(
      'elsewhere is not installed on the server.',
    )
  })

  test('is missing, with its installation command, if it is not installed or unknown', async () => {
    const agents = catalogue(folder(), 'qwen')
    expect(await chosen(agents, { agent: 'claude', credential: null })).toBe(
      'Claude Code is not installed on the server. To get it: npm install -g @agentclientprotocol/claude-agent-acp',
    )
    expect(await chosen(agents, { agent: 'nobody', credential: null })).toBe('There is no agent nobody.')
    const none = catalogue(folder())
    expect(await chosen(none, { agent: null, credential: 'google' })).toContain('Gemini CLI is not installed')
    expect(await chosen(none, { agent: null, credential: null })).toMatch(
      /^No agent is installed on the server\. To install one, for example Claude Code: npm install -g \S+$/,
    )
  })
})
