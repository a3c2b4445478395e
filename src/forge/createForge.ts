import type { Forge, ForgeAddress } from './forge.ts'
import type { ForgeOptions } from './forgeHttp.ts'
import { gitea } from './gitea/gitea.ts'
import { gitHub } from './github/github.ts'
import { gitLab } from './gitlab/gitlab.ts'

const kinds = { github: gitHub, gitlab: gitLab, gitea } as const

/** Creates the access to a repository on a forge. The token is sent only to the forge's own address. */
export const createForge = (address: ForgeAddress, token: string, options: ForgeOptions): Forge =>
  kinds[address.kind](address, token, options)
