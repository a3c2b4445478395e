import { proveAgent } from './proveAgent.ts'

proveAgent('copilot', {
  silence: '60s',
  credentials: {
    openai: '/gateway/v1/chat/completions',
    anthropic: '/gateway/v1/messages',
    custom: '/gateway/chat/completions',
  },
})
