import { proveAgent } from './proveAgent.ts'

proveAgent('gemini', {
  credentials: { google: '/gateway/v1beta/models/second:streamGenerateContent' },
  model: { id: 'gemini-2.5-pro', asked: 'gemini-2.5-pro' },
  // It writes each process's conversation into a file named by the minute. In the same minute, a new process empties it.
  resumesNextMinute: true,
  usage: { inputTokens: 2500, outputTokens: 60 },
})
