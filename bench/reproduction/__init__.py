"""The paper's figures again, in virtual time: experiments that run the engine with several seeds each."""
