import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { credentialProblem, type AgentCredential } from '../../src/agents/providers/credentialEnvironment.ts'
import { prepareLaunch, type LaunchRequest } from '../../src/agents/providers/prepareLaunch.ts'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'
import { createRoom, type AgentRoom } from '../support/agents/agent.ts'

let dataDir: string
let room: AgentRoom
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'board-launch-'))
  room = await createRoom()
})
afterAll(async () => {
  await room.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const agent = (id: string) => builtIn.find(provider => provider.id === id)!
const board = { url: 'http://127.0.0.1:4400/', token: 'svc_at_token', projectId: 3, cardId: 12 }
const server = {
  PATH: `/usr/bin:.:${process.env.PATH}`,
  HOME: '/home/server',
  LANG: 'de_DE.UTF-8',
  TERM: 'xterm',
  XDG_CONFIG_HOME: '/home/server/.config',
  HTTPS_PROXY: 'http://proxy.test:3128',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  BOARD_SECRET_KEY: 'key',
  BOARD_DATABASE_TOKEN: 'db',
  BOARD_TOKEN: 'operator',
  AWS_SECRET_ACCESS_KEY: 'aws',
  NODE_OPTIONS: '--inspect',
  SSH_AUTH_SOCK: '/run/agent',
  GIT_DIR: '/elsewhere',
  ANTHROPIC_API_KEY: 'sk-ant-account',
  OPENAI_API_KEY: 'sk-account',
  OPENAI_MODEL: 'small',
}
const launch = (work: Partial<LaunchRequest>, env: NodeJS.ProcessEnv = server) =>
  prepareLaunch(
    {
      provider: agent('claude'),
      profile: null,
      choice: { model: null, mode: null, effort: null },
      credential: null,
      cwd: room.cwd,
      dataDir,
      board,
      mode: 'work',
      ...work,
    },
    env,
  )
const credential = (
  provider: AgentCredential['provider'],
  baseUrl: string | null = null,
  rest: Partial<AgentCredential> = {},
): AgentCredential => ({
  id: 7,
  provider,
  kind: 'api_key',
  token: 'the-secret-key',
  baseUrl,
  headers: {},
  models: [],
  ...rest,
})
/** A gateway's header and models. */
const gateway = { headers: { 'X-Team': 'blue' }, models: ['big', 'small'] }

describe('the environment of an agent', () => {
  test('holds the listed variables and no others of the server', async () => {
    const { env } = await launch({})
    expect(env).toEqual({
      PATH: `/usr/bin:${process.env.PATH}`,
      LANG: 'de_DE.UTF-8',
      TERM: 'dumb',
      NO_COLOR: '1',
      PAGER: 'cat',
      GIT_PAGER: 'cat',
      GIT_EDITOR: 'true',
      GIT_TERMINAL_PROMPT: '0',
      NO_BROWSER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      HTTPS_PROXY: 'http://proxy.test:3128',
      NO_PROXY: 'localhost,127.0.0.1,::1',
      no_proxy: 'localhost,127.0.0.1,::1',
      NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
      HOME: '/home/server',
      XDG_CONFIG_HOME: '/home/server/.config',
      ANTHROPIC_API_KEY: 'sk-ant-account',
      TMPDIR: join(dataDir, 'agents/none/tmp'),
      TMP: join(dataDir, 'agents/none/tmp'),
      TEMP: join(dataDir, 'agents/none/tmp'),
      GIT_AUTHOR_NAME: 'Claude Code',
      GIT_AUTHOR_EMAIL: 'claude@board.invalid',
      GIT_COMMITTER_NAME: 'Claude Code',
      GIT_COMMITTER_EMAIL: 'claude@board.invalid',
      BOARD_URL: 'http://127.0.0.1:4400/',
      BOARD_PROJECT_ID: '3',
      BOARD_CARD_ID: '12',
      BOARD_TOKEN: 'svc_at_token',
    })
  })

  test('holds a credential in the variables of the agent, a home for that credential and project only, and no sign-in of the account', async () => {
    const { env, argv, secrets, tools } = await launch({ credential: credential('anthropic') })
    expect(env).toMatchObject({
      ANTHROPIC_API_KEY: 'the-secret-key',
      HOME: join(dataDir, 'agents/7/3/home'),
      TMPDIR: join(dataDir, 'agents/7/3/tmp'),
    })
    expect([env.XDG_CONFIG_HOME, env.ANTHROPIC_BASE_URL]).toEqual([undefined, undefined])
    expect(
      Object.entries(env).filter(([, value]) => value.includes('account') || value.includes('/home/server')),
    ).toEqual([])
    expect(
      Object.entries(env)
        .filter(([, value]) => value.includes('the-secret-key'))
        .map(([name]) => name),
    ).toEqual(['ANTHROPIC_API_KEY'])
    expect([argv.join(' '), secrets, tools]).toEqual([
      'claude-agent-acp',
      ['the-secret-key', 'svc_at_token'],
      { url: 'http://127.0.0.1:4400/api/mcp', token: 'svc_at_token' },
    ])
    for (const folder of ['agents', 'agents/7', 'agents/7/3', 'agents/7/3/home', 'agents/7/3/tmp'])
      expect(statSync(join(dataDir, folder)).mode & 0o777).toBe(0o700)
  })

  test("of a profile has its variables, program and arguments, and the account's sign-in only if the profile has none", async () => {
    const profile = {
      name: 'gateway',
      command: ['wrapper', 'acp'],
      args: ['--fast'],
      env: { ANTHROPIC_API_KEY: 'sk-of-profile' },
    }
    const own = await launch({ profile })
    expect([own.argv, own.env.ANTHROPIC_API_KEY, own.env.HOME]).toEqual([
      ['wrapper', 'acp', '--fast'],
      'sk-of-profile',
      join(dataDir, 'agents/profile-gateway/3/home'),
    ])
    expect(own.secrets).toContain('sk-of-profile')
    const harmless = await launch({ profile: { ...profile, command: null, env: { MAX_THINKING_TOKENS: '4000' } } })
    expect([harmless.argv, harmless.env.ANTHROPIC_API_KEY, harmless.env.HOME]).toEqual([
      ['claude-agent-acp', '--fast'],
      'sk-ant-account',
      '/home/server',
    ])
    expect(harmless.secrets).toContain('sk-ant-account')
  })

  test.each([
    [
      'claude',
      credential('anthropic', 'https://proxy.test/'),
      { ANTHROPIC_API_KEY: 'the-secret-key', ANTHROPIC_BASE_URL: 'https://proxy.test' },
    ],
    [
      'claude',
      credential('anthropic', null, { token: 'sk-ant-oat01-x' }),
      { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-x' },
    ],
    ['claude', credential('anthropic', null, { kind: 'oauth' }), { ANTHROPIC_AUTH_TOKEN: 'the-secret-key' }],
    ['codex', credential('openai'), { CODEX_API_KEY: 'the-secret-key' }],
    [
      'codex',
      credential('custom', 'http://127.0.0.1:1/v1'),
      {
        CODEX_API_KEY: 'the-secret-key',
        CODEX_CONFIG:
          '{"model_provider":"board","model_providers":{"board":{"name":"board","base_url":"http://127.0.0.1:1/v1","env_key":"CODEX_API_KEY","wire_api":"responses"}}}',
      },
    ],
    [
      'gemini',
      credential('google', 'https://g.test'),
      { GEMINI_API_KEY: 'the-secret-key', GOOGLE_GEMINI_BASE_URL: 'https://g.test' },
    ],
    ['copilot', credential('github'), { COPILOT_GITHUB_TOKEN: 'the-secret-key' }],
    [
      'opencode',
      credential('openrouter'),
      {
        OPENCODE_API_KEY: 'the-secret-key',
        OPENCODE_CONFIG_CONTENT:
          '{"enabled_providers":["openrouter"],"provider":{"openrouter":{"options":{"apiKey":"{env:OPENCODE_API_KEY}"}}},"share":"disabled"}',
      },
    ],
    [
      'opencode',
      credential('custom', 'http://127.0.0.1:1/v1', gateway),
      {
        OPENCODE_API_KEY: 'the-secret-key',
        OPENCODE_CONFIG_CONTENT:
          '{"enabled_providers":["board"],"provider":{"board":{"npm":"@ai-sdk/openai-compatible","name":"board","options":{"apiKey":"{env:OPENCODE_API_KEY}","baseURL":"http://127.0.0.1:1/v1","headers":{"X-Team":"blue"}},"models":{"big":{"name":"big"},"small":{"name":"small"}}}},"model":"board/big","small_model":"board/small","share":"disabled"}',
      },
    ],
    [
      'claude',
      credential('anthropic', 'https://gateway.test/v1', gateway),
      {
        ANTHROPIC_API_KEY: 'the-secret-key',
        ANTHROPIC_BASE_URL: 'https://gateway.test',
        ANTHROPIC_CUSTOM_HEADERS: 'X-Team: blue',
        ANTHROPIC_MODEL: 'big',
        ANTHROPIC_SMALL_FAST_MODEL: 'small',
      },
    ],
    [
      'codex',
      credential('openai', null, gateway),
      {
        CODEX_API_KEY: 'the-secret-key',
        CODEX_CONFIG:
          '{"model":"big","model_provider":"board","model_providers":{"board":{"name":"board","base_url":"https://api.openai.com/v1","env_key":"CODEX_API_KEY","wire_api":"responses","http_headers":{"X-Team":"blue"}}}}',
      },
    ],
    [
      'gemini',
      credential('google', null, gateway),
      { GEMINI_API_KEY: 'the-secret-key', GEMINI_CLI_CUSTOM_HEADERS: 'X-Team: blue', GEMINI_MODEL: 'big' },
    ],
    [
      'copilot',
      credential('anthropic', null, gateway),
      {
        COPILOT_PROVIDER_TYPE: 'anthropic',
        COPILOT_PROVIDER_BASE_URL: 'https://api.anthropic.com',
        COPILOT_PROVIDER_API_KEY: 'the-secret-key',
        COPILOT_PROVIDER_HEADERS: 'X-Team: blue',
        COPILOT_MODEL: 'big',
      },
    ],
    [
      'copilot',
      credential('custom', 'http://127.0.0.1:1/v1', { models: ['local'] }),
      {
        COPILOT_PROVIDER_TYPE: 'openai',
        COPILOT_PROVIDER_BASE_URL: 'http://127.0.0.1:1/v1',
        COPILOT_PROVIDER_API_KEY: 'the-secret-key',
        COPILOT_MODEL: 'local',
      },
    ],
    [
      'qwen',
      credential('openai', 'http://127.0.0.1:1'),
      { OPENAI_API_KEY: 'the-secret-key', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' },
    ],
    [
      'qwen',
      credential('openrouter'),
      { OPENAI_API_KEY: 'the-secret-key', OPENAI_BASE_URL: 'https://openrouter.ai/api/v1' },
    ],
    [
      'goose',
      credential('custom', 'http://127.0.0.1:1/v1'),
      {
        GOOSE_PROVIDER: 'openai',
        OPENAI_API_KEY: 'the-secret-key',
        OPENAI_HOST: 'http://127.0.0.1:1',
        OPENAI_BASE_PATH: 'v1/chat/completions',
      },
    ],
  ])('is that of %s with %o', async (id, given, expected) => {
    const [withIt, without] = [
      await launch({ provider: agent(id), credential: given }, { PATH: '/usr/bin' }),
      await launch({ provider: agent(id) }, { PATH: '/usr/bin' }),
    ]
    const added = Object.fromEntries(
      Object.entries(withIt.env).filter(
        ([name, value]) => without.env[name] !== value && !['HOME', 'TMPDIR', 'TMP', 'TEMP'].includes(name),
      ),
    )
    expect(added).toEqual(expected)
  })

  test('names the chosen model of a credential, and redacts its headers', async () => {
    const { env, choice, modelIsKnown, secrets } = await launch({
      provider: agent('claude'),
      credential: credential('anthropic', 'https://gateway.test', gateway),
      choice: { model: 'small', mode: null, effort: null },
    })
    expect([env.ANTHROPIC_MODEL, choice?.model, modelIsKnown]).toEqual(['small', 'small', true])
    expect(secrets).toContain('blue')
  })

  test('is not created with a credential whose headers or models the agent cannot receive', () => {
    const problem = (id: string, provider: AgentCredential['provider'], rest: Partial<AgentCredential>) =>
      credentialProblem(agent(id), credential(provider, null, rest))
    expect(problem('qwen', 'openai', gateway)).toBe(
      'Qwen Code cannot send the headers of the credential. Choose another agent.',
    )
    expect(problem('copilot', 'github', { models: ['big'] })).toBe(
      'GitHub Copilot CLI does not accept custom model names. Choose another agent for a credential that lists models.',
    )
    expect(problem('copilot', 'openai', {})).toBe(
      'GitHub Copilot CLI needs to know a model of the credential: board credentials edit <credential> --model <model>',
    )
    expect(problem('claude', 'anthropic', gateway)).toBeUndefined()
  })

  test('of a terminal card without a token holds none', async () => {
    const { protocol, argv, env, tools, secrets } = await launch({
      provider: undefined,
      board: { ...board, token: null },
    })
    expect([protocol, argv, env.BOARD_TOKEN, env.ANTHROPIC_API_KEY, env.BOARD_CARD_ID, tools, secrets]).toEqual([
      'terminal',
      [],
      undefined,
      undefined,
      '12',
      null,
      [],
    ])
  })

  test('is complete: the process gets no other variables', async () => {
    const prepared = await launch({
      provider: {
        ...agent('claude'),
        protocol: 'command',
        command: [
          process.execPath,
          '-e',
          'require("fs").writeFileSync("probe", ""); console.log(JSON.stringify({ ...process.env, cwd: process.cwd(), tmp: require("os").tmpdir() }))',
        ],
      },
    })
    const link = await room.open('', {}, { ...prepared, secrets: [] })
    await link.start()
    await link.prompt('')
    const { cwd, tmp, BOARD_RUN_ID: runId, ...seen } = JSON.parse(room.heard.text())
    expect(seen).toEqual(prepared.env)
    expect([cwd, tmp, runId]).toEqual([room.cwd, prepared.env.TMPDIR, room.children.at(-1)!.runId])
    expect(existsSync(join(room.cwd, 'probe'))).toBe(true)
  })
})

test("Qwen Code receives the board's tools that need no question, if it has a token", async () => {
  const argv = async (token: string | null) =>
    (await launch({ provider: agent('qwen'), board: { ...board, token } })).argv
  expect([await argv('svc_at_token'), await argv(null)]).toEqual([
    ['qwen', '--acp', expect.stringMatching(/^--allowed-tools=(mcp__board__(?!add_monitor)[a-z_]+,?)+$/)],
    ['qwen', '--acp'],
  ])
})

test('Qwen Code sends no usage statistics from its own home folder, and keeps existing settings there', async () => {
  const start = () =>
    launch({ provider: agent('qwen'), credential: credential('custom', 'http://127.0.0.1:1', { id: 8 }) })
  const settings = join((await start()).env.HOME!, '.qwen/settings.json')
  expect(JSON.parse(readFileSync(settings, 'utf8'))).toEqual({
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false },
  })
  expect(statSync(settings).mode & 0o777).toBe(0o600)
  writeFileSync(settings, '{}')
  await start()
  expect(readFileSync(settings, 'utf8')).toBe('{}')
})

test('an agent plans in a read-only mode, and works in a mode that accepts its edits', async () => {
  expect((await launch({ mode: 'plan' })).modes?.[0]).toBe('plan')
  expect((await launch({ mode: 'work' })).modes).toEqual(['acceptEdits'])
})
