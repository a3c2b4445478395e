import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { browse, read } from '../../../src/files/filesystem.ts'
import type { Handlers } from '../../http/handlers.ts'

export const filesystemRoutes = (app: Pick<App, 'config' | 'db'>): Handlers<Contract['filesystem']> => ({
  browse: ({ path }, call) => browse(app, call.caller, path),
  read: ({ path, offset }, call) => read(app, call.caller, path, offset),
})
