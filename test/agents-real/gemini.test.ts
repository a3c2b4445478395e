import { proveAgent } from './proveAgent.ts'

proveAgent('gemini', {
  credentials: { google: '/gateway/v1beta/models/second:streamGenerateContent' },
  model: { id: 'gemini-2.5-pro', asked: 'gemini-2.5-pro' },
  usage: { inputTokens: 2500, outputTokens: 60 },
})
