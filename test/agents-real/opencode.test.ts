import { proveAgent } from './proveAgent.ts'

proveAgent('opencode', {
  credentials: {
    openai: '/gateway/v1/responses',
    anthropic: '/gateway/v1/messages',
    custom: '/gateway/chat/completions',
  },
  model: { id: 'tests/second', asked: 'second' },
  // Its question about a server's tool contains only the tool's name.
  firstAsked: null,
  askingEnvironment: { OPENCODE_PERMISSION: JSON.stringify({ bash: 'ask', board_add_monitor: 'ask' }) },
  usage: { inputTokens: 500, outputTokens: 30 },
  foreign: ['registry.npmjs.org'],
})
