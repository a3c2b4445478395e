import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { listFolder, readPart } from '../../../src/files/filesystem.ts'
import type { Handlers } from '../../http/handlers.ts'

export const filesystemRoutes = (app: Pick<App, 'config' | 'db'>): Handlers<Contract['filesystem']> => ({
  browse: ({ path }, call) => listFolder(app, call.caller, path),
  read: ({ path, offset }, call) => readPart(app, call.caller, path, offset),
})
