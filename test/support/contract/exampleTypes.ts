import type { Contract } from '../../../src/contract/index.ts'
import type { Route, Sent } from '../../../src/contract/route.ts'

/** An input of each route. */
export type Examples = {
  [Resource in keyof Contract]: {
    [Name in keyof Contract[Resource]]: Contract[Resource][Name] extends Route ? Sent<Contract[Resource][Name]> : never
  }
}
