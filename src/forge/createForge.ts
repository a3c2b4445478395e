import type { Forge, ForgeAddress } from './forge.ts'
import type { ForgeOptions } from './forgeHttp.ts'
import { gitea } from './gitea/gitea.ts'
import { gitHub } from './github/github.ts'
import { gitLab } from './gitlab/gitlab.ts'

const kinds = { github: gitHub, gitlab: gitLab, gitea } as const

/** A repository on a forge, asked with a token, which goes to the forge's own address only. */
export const createForge = (address: ForgeAddress, token: string, options: ForgeOptions): Forge =>
  kinds[address.kind](address, token, options)
