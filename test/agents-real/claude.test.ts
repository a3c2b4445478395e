import { proveAgent } from './proveAgent.ts'

proveAgent('claude', {
  model: { id: 'haiku', asked: 'claude-haiku-4-5-20251001' },
  credentials: { anthropic: '/gateway/v1/messages' },
})
