// A refusal with its code, as it goes over the wire.

import type { ActionFailure, FailureCode } from "./generated";

export class Failure extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
    readonly more: Partial<ActionFailure> = {},
  ) {
    super(message);
  }
}
