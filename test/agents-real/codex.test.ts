import { proveAgent } from './proveAgent.ts'

proveAgent('codex', {
  model: { id: 'gpt-5.5', asked: 'gpt-5.5' },
  silence: '60s',
  credentials: { openai: '/gateway/v1/responses', custom: '/gateway/responses' },
})
