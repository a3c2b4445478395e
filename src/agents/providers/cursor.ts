import { defineProvider } from './agentProvider.ts'

export const cursor = defineProvider({
  id: 'cursor',
  name: 'Cursor',
  command: ['agent', 'acp'],
  install: 'https://cursor.com/docs/cli/installation',
  modelHosts: ['*.cursor.sh', '*.cursor.com'],
  credentials: {},
  account: ['CURSOR_API_KEY'],
  state: ['.cursor', '.config/cursor'],
  authMethods: ['cursor_login'],
  modes: { work: ['agent'] },
})
