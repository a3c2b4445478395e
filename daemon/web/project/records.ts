import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'

export type Credential = Output<Contract['credentials']['list']>[number]
export type Webhook = Output<Contract['webhooks']['list']>[number]
export type Schedule = Output<Contract['schedules']['list']>[number]
